SELECT k.place AS ordinality, {key_content} AS `key`, COALESCE(a.outcome, 'new') AS outcome,
           IF(COALESCE(a.outcome, 'new') = 'new', drawn, NULL) AS nonce,
           (SELECT IF(r.inbox IS NULL, r.result, i.result) FROM semel_record AS r
              LEFT JOIN semel_inbox AS i ON i.row_id = r.inbox
              WHERE r.id = UNHEX(NULLIF(a.kept, '')){lock}) AS result,
           CAST(NULLIF(a.wait, '') AS DECIMAL(30, 6)) AS retry_after,
           SUBSTR(NULLIF(a.why, ''), 2) AS reason
      FROM {key_list} AS k
      LEFT JOIN JSON_TABLE(CONCAT('[', answers, ']'), '$[*]' COLUMNS (
        place BIGINT PATH '$.p', outcome {word} PATH '$.o', kept VARCHAR(40) PATH '$.k',
        wait VARCHAR(40) PATH '$.w', why {text} PATH '$.y')) AS a ON a.place = k.place
      ORDER BY k.place