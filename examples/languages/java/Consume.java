import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;

/** Payments from a list: a line of standard input names one, which is made once however often it comes. */
public final class Consume {
  public static void main(String[] arguments) throws Exception {
    try (Connection connection = DriverManager.getConnection("jdbc:" + System.getenv("DATABASE_URL"));
        PreparedStatement claim = connection.prepareStatement("SELECT outcome FROM semel.claim('payments', ?, ?)");
        PreparedStatement insert = connection.prepareStatement("INSERT INTO payment (id, account, amount) VALUES (?, ?, ?)");
        PreparedStatement update = connection.prepareStatement("UPDATE account SET balance = balance + ? WHERE id = ?");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
      connection.setAutoCommit(false);
      for (String line; (line = lines.readLine()) != null; ) {
        String[] words = line.split(" ");
        claim.setString(1, words[0]);
        claim.setString(2, line);
        String outcome;
        try (ResultSet claimed = claim.executeQuery()) {
          claimed.next();
          outcome = claimed.getString(1);
        }
        if (outcome.equals("new")) {
          insert.setString(1, words[0]);
          insert.setLong(2, Long.parseLong(words[1]));
          insert.setLong(3, Long.parseLong(words[2]));
          insert.executeUpdate();
          update.setLong(1, Long.parseLong(words[2]));
          update.setLong(2, Long.parseLong(words[1]));
          update.executeUpdate();
        }
        connection.commit();
        // After the commit. A message that is left comes again.
        boolean settled = outcome.equals("new") || outcome.equals("duplicate") || outcome.equals("dead");
        System.out.println((settled ? "acknowledge " : "leave ") + words[0] + " " + outcome);
      }
    }
  }
}
