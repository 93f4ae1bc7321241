"""Runs the vectors of spec/ against the reference: vectors.py FOLDER."""

import base64
import json
import pathlib
import sys
import unittest

import reference

FOLDER = pathlib.Path(sys.argv.pop(1))


def vectors(name, member):
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))[member]


def content(vector, name):
    """The bytes of a member: its text, or what its base64 means, so many times; None where it is null."""
    if f"{name}_base64" in vector:
        return base64.b64decode(vector[f"{name}_base64"])
    return None if vector[name] is None else vector[name].encode() * vector.get("times", 1)


class Vectors(unittest.TestCase):
    def test_ids_of_keys(self):
        for name, by_position in (("ids", False), ("by_position", True)):
            for vector in vectors("keys.json", name):
                made = reference.key_id(vector["consumer"], content(vector, "key"), by_position)
                self.assertEqual(made.hex(), vector["id"], vector["key" if "key" in vector else "key_base64"][:80])

    def test_fingerprints(self):
        for vector in vectors("fingerprints.json", "fingerprints"):
            self.assertEqual(reference.fingerprint(content(vector, "payload")).hex(), vector["fingerprint"])
        for vector in vectors("fingerprints.json", "same"):
            recorded, arrived = (bytes.fromhex(vector[name]) for name in ("recorded", "arrived"))
            self.assertEqual(reference.same(recorded, arrived), vector["same"], vector)

    def test_claims(self):
        for vector in vectors("claims.json", "claims"):
            with self.subTest(vector["name"]):
                answer, after = reference.claim(vector["record"], vector["claim"])
                self.assertEqual(answer, vector["answer"])
                self.assertEqual(after, vector["after"])

    def test_endings(self):
        for vector in vectors("endings.json", "endings"):
            with self.subTest(vector["name"]):
                answer, after = reference.end(vector["record"], vector["end"])
                self.assertEqual(answer, vector["answer"])
                self.assertEqual(after, vector["after"])

    def test_headers(self):
        for vector in vectors("headers.json", "headers"):
            headers = [(header["name"].encode(), header["value"].encode()) for header in vector["headers"]]
            self.assertEqual(reference.header_text(headers).decode(), vector["text"])

    def test_dead_letters(self):
        lines = (FOLDER / "dead_letters.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertTrue(lines)
        for line in lines:
            self.assertEqual(reference.line_of(reference.letter_of(line)), line)
        changed = lines[0].replace("account", "Account", 1)
        self.assertNotEqual(changed, lines[0])
        with self.assertRaises(ValueError):
            reference.letter_of(changed)


if __name__ == "__main__":
    unittest.main()
