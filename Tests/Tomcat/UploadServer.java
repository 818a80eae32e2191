// SPDX-License-Identifier: Apache-2.0

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;

/** Tomcat with HTTP/2 over TLS, which answers a request with the SHA-256 of its body. */
public class UploadServer {
  static class Digest extends HttpServlet {
    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
      MessageDigest digest;
      try {
        digest = MessageDigest.getInstance("SHA-256");
      } catch (NoSuchAlgorithmException error) {
        throw new IOException(error);
      }
      InputStream body = request.getInputStream();
      byte[] bytes = new byte[8192];
      for (int count; (count = body.read(bytes)) >= 0;) digest.update(bytes, 0, count);
      response.setContentType("text/plain");
      response.getWriter().print(HexFormat.of().formatHex(digest.digest()));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(Files.createDirectories(folder.resolve("base")).toString());
    Connector connector = new Connector();
    connector.setPort(0);
    connector.setSecure(true);
    connector.setScheme("https");
    connector.setProperty("address", "127.0.0.1");
    connector.setProperty("SSLEnabled", "true");
    SSLHostConfig host = new SSLHostConfig();
    SSLHostConfigCertificate certificate = new SSLHostConfigCertificate(host, SSLHostConfigCertificate.Type.UNDEFINED);
    certificate.setCertificateKeystoreFile(folder.resolve("server.p12").toString());
    certificate.setCertificateKeystorePassword("secret");
    certificate.setCertificateKeystoreType("PKCS12");
    host.addCertificate(certificate);
    connector.addSslHostConfig(host);
    connector.addUpgradeProtocol(new Http2Protocol());
    tomcat.setConnector(connector);
    var context = tomcat.addContext("", folder.toString());
    Tomcat.addServlet(context, "digest", new Digest());
    context.addServletMappingDecoded("/*", "digest");
    tomcat.start();
    System.out.println("port " + tomcat.getConnector().getLocalPort());
    System.out.flush();
    // The program that started it closes its input.
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
