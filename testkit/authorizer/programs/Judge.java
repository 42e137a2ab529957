import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

// Judge has Kafka's StandardAuthorizer answer what it is asked on standard input, one line each, fields between tabs:
//   begin, super.users, allow.everyone.if.no.acl.found     a new authorizer without ACLs
//   acl, type, pattern, name, principal, host, operation, permission
//   ask, principal, host, operation, type, name            answered with 1 or 0
//   any, principal, host, operation, type                  the same of some resource of the type
public class Judge {
  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    StandardAuthorizer judge = null;
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] f = line.split("\t", -1);
      switch (f[0]) {
        case "begin":
          judge = new StandardAuthorizer();
          judge.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
          judge.configure(Map.of("super.users", f[1], "allow.everyone.if.no.acl.found", f[2]));
          judge.completeInitialLoad();
          break;
        case "acl":
          judge.addAcl(Uuid.randomUuid(), new StandardAcl(ResourceType.fromCode(code(f[1])), f[3], PatternType.fromCode(code(f[2])), f[4], f[5],
              AclOperation.fromCode(code(f[6])), AclPermissionType.fromCode(code(f[7]))));
          break;
        case "ask":
          ResourcePattern what = new ResourcePattern(ResourceType.fromCode(code(f[4])), f[5], PatternType.LITERAL);
          say(out, judge.authorize(new From(f[1], f[2]), List.of(new Action(AclOperation.fromCode(code(f[3])), what, 1, false, false))).get(0));
          break;
        case "any":
          say(out, judge.authorizeByResourceType(new From(f[1], f[2]), AclOperation.fromCode(code(f[3])), ResourceType.fromCode(code(f[4]))));
          break;
        default:
          throw new IllegalArgumentException(line);
      }
    }
    out.flush();
  }

  private static byte code(String s) {
    return Byte.parseByte(s);
  }

  private static void say(PrintStream out, AuthorizationResult r) {
    out.println(r == AuthorizationResult.ALLOWED ? "1" : "0");
  }

  private record From(String who, String host) implements AuthorizableRequestContext {
    public String listenerName() { return "PLAINTEXT"; }
    public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
    public KafkaPrincipal principal() { return SecurityUtils.parseKafkaPrincipal(who); }
    public InetAddress clientAddress() {
      try {
        return InetAddress.getByName(host);
      } catch (java.net.UnknownHostException e) {
        throw new IllegalArgumentException(e);
      }
    }
    public int requestType() { return 0; }
    public int requestVersion() { return 0; }
    public String clientId() { return "judge"; }
    public int correlationId() { return 0; }
  }
}
