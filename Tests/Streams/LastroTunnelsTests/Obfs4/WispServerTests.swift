// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Lastro
import LastroTunnels
import Testing

@Suite("obfs4 servers as text")
struct WispServerTests {
  private struct Vectors: Decodable {
    struct Argument: Decodable {
      var text: String
      var host: String?
      var port: Int?
      var iat_mode: Int?
      var error: String?
    }

    struct Certificate: Decodable {
      var cert: String
      var node_id: String?
      var public_key: String?
    }

    var arguments: [Argument]
    var cert: [Certificate]

    static func read() throws -> Vectors {
      try JSONDecoder().decode(Self.self, from: ConformanceData.file("transports/obfs4-vectors.json"))
    }
  }

  private static let certificate = "AQIDBAUGBwgJCgsMDQ4PEBESExRDrVVIN+USFSTYIdEpkLM6jrVzcaJoWVBG6Bz0jlOucg"
  private static let nodeID = "0102030405060708090a0b0c0d0e0f1011121314"
  private static let publicKey = "43ad554837e5121524d821d12990b33a8eb57371a268595046e81cf48e53ae72"

  private static func expectRefused(
    _ text: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    do throws(ConfigurationError) {
      _ = try WispServer(text)
      Issue.record("\(text) was accepted", sourceLocation: sourceLocation)
    } catch {
      #expect(error.hint != nil, sourceLocation: sourceLocation)
      // The error must contain no part of a certificate, or of the text in its place.
      for start in stride(from: 0, to: certificate.count - 8, by: 8) {
        let part = certificate.dropFirst(start).prefix(8)
        #expect(!error.description.contains(part), "\(error)", sourceLocation: sourceLocation)
      }
    }
  }

  @Test("Hops and bridge lines are parsed or refused")
  func arguments() throws {
    for vector in try Vectors.read().arguments {
      guard vector.error == nil else {
        Self.expectRefused(vector.text)
        #expect(throws: ConfigurationError.self) { try ViaChain([vector.text]) }
        continue
      }
      let server = try WispServer(vector.text)
      #expect(server.host == vector.host)
      #expect(server.port == vector.port)
      #expect(server.mode.rawValue == vector.iat_mode)
      #expect(server.certificate.reveal() == Self.certificate)
      #expect(try ViaChain([vector.text]).hops == [.obfs4(server)])
    }
  }

  @Test("Certificates are parsed with and without a final ==, and the two halves yield the same")
  func certificates() throws {
    for vector in try Vectors.read().cert {
      guard let nodeID = vector.node_id, let publicKey = vector.public_key else {
        #expect(throws: ConfigurationError.self) {
          try WispServer(host: "a.test", port: 1, certificate: Secret(vector.cert))
        }
        Self.expectRefused("obfs4:a.test:1?cert=\(vector.cert)")
        continue
      }
      let server = try WispServer(host: "a.test", port: 1, certificate: Secret(vector.cert))
      #expect(server.certificate.reveal() == vector.cert)
      for text in [
        "obfs4:a.test:1?cert=\(vector.cert)==", "obfs4 a.test:1 cert=\(vector.cert)==",
        "obfs4:a.test:1?cert=\(vector.cert)%3D%3d",
        "obfs4:a.test:1?cert=\(vector.cert.replacing("+", with: "%2B").replacing("/", with: "%2f"))",
        "obfs4:a.test:1?node-id=\(nodeID)&public-key=\(publicKey)",
        "obfs4 a.test:1 public-key=\(publicKey) node-id=\(nodeID.uppercased())",
      ] {
        #expect(try WispServer(text) == server, "\(text)")
      }
    }
  }

  @Test("The last four bits of a certificate are ignored")
  func lastBits() throws {
    let server = try WispServer(host: "a.test", port: 1, certificate: Secret(Self.certificate))
    for end in "hijklmnopqrstuv" {
      let other = try WispServer(host: "a.test", port: 1, certificate: Secret(Self.certificate.dropLast() + "\(end)"))
      #expect(other == server)
    }
  }

  @Test(
    "Every other form is refused without showing any part of the certificate",
    arguments: [
      "", "obfs4", "obfs4:", "obfs4 ", "bridge", "Bridge obfs4", "obfs4:a.test", "obfs4:a.test:1", "obfs4:a.test:1?",
      "obfs4:a.test:1?C", "obfs4:a.test:1?cert=", "obfs4:a.test:1?cert=C&", "obfs4:a.test:1?&cert=C",
      "obfs4:a.test:1?cert=C&iat-mode=00", "obfs4:a.test:1?cert=C&iat-mode=-1",
      "obfs4:a.test:1?cert=C&iat-mode=1&iat-mode=1",
      "obfs4:a.test:1?cert=C&x=1", "obfs4:a.test:1?CERT=C", "obfs4:a.test:65536?cert=C", "obfs4:a.test:x?cert=C",
      "obfs4:2001:db8::7:443?cert=C", "obfs4:[2001:db8::7]?cert=C", "obfs4:[2001:db8::7:443?cert=C", "obfs4::1?cert=C",
      "obfs4://a.test:1?cert=C", "obfs4:a b:1?cert=C", "obfs4:C?a.test:1", "obfs4:cert=C:1", "obfs4:a.test:1?cert=%2BC",
      "obfs4:a.test:1?cert=C&node-id=N&public-key=P", "obfs4:a.test:1?node-id=N", "obfs4:a.test:1?public-key=P",
      "obfs4:a.test:1?node-id=N0&public-key=P", "obfs4:a.test:1?node-id=N&public-key=C",
      "obfs4:u:p@a.test:1?cert=C", "obfs4:a.test:1#x?cert=C", "obfs4:a.test:1?cert=C#x",
      "obfs4 a.test:1", "obfs4 cert=C a.test:1", "obfs4 a.test:1 C", "obfs4 a.test:1 cert=C cert=C",
      "Bridge a.test:1 cert=C",
      "obfs4 a.test:1 cert=C\nobfs4 a.test:1 cert=C", "Bridge obfs3 a.test:1 cert=C",
      "Bridge Bridge obfs4 a.test:1 cert=C",
      "obfs4 a.test:1 0123456789ABCDEF0123456789ABCDEF0123456 cert=C",
      // Forty bytes of digits that are not ASCII.
      "obfs4 a.test:1 ０１２３４５６７８９ＡＢＤ0 cert=C", "xobfs4:a.test:1?cert=C",
      "obfs4 a.test:1 cert=%2BC",
      "obfs4:a.test:1?cert=é", "obfs4:a.test:1?cert=%",
    ])
  func refusals(form: String) {
    let text = form.replacing("C", with: Self.certificate).replacing("N", with: Self.nodeID)
      .replacing("P", with: Self.publicKey)
    Self.expectRefused(text.replacing(Self.certificate + "ERT", with: "CERT"))
  }

  @Test("Bridge lines are parsed with their other contents")
  func bridgeLines() throws {
    let server = try WispServer("obfs4:a.test:443?cert=\(Self.certificate)&iat-mode=2")
    let fingerprint = "0123456789abcdefABCD0123456789abcdefABCD"
    for line in [
      "obfs4 a.test:443 cert=\(Self.certificate) iat-mode=2",
      "  Bridge\tobfs4   A.test:443 iat-mode=2 cert=\(Self.certificate)\r\n",
      "BRIDGE obfs4 a.test:443 \(fingerprint) cert=\(Self.certificate) iat-mode=2 utls-nosni=true url=x",
    ] {
      #expect(try WispServer(line) == server)
      #expect(try ViaChain.Hop(line) == .obfs4(server))
    }
    #expect(try WispServer("OBFS4:a.test:443?iat-mode=2;cert=\(Self.certificate)") == server)
  }

  @Test("A port out of range, and a + that was decoded as a space, are reported as such")
  func hints() throws {
    func error(_ text: String) -> ConfigurationError? {
      do throws(ConfigurationError) { _ = try WispServer(text) } catch { return error }
      return nil
    }
    let port = try #require(error("obfs4:a.test:70000?cert=\(Self.certificate)"))
    #expect(port.message == "port 70000 of the obfs4 server is out of range (1…65535)")
    let space = try #require(error("obfs4:a.test:1?cert=\(Self.certificate.replacing("+", with: " "))"))
    #expect(space.message == "character 34 of the obfs4 certificate is not base64")
    #expect(space.hint?.contains("%2B") == true)
    let short = try #require(error("obfs4:a.test:1?cert=AAAA"))
    #expect(short.message == "the obfs4 certificate has 4 characters instead of 70")
  }

  @Test("Descriptions, dumps and mirrors show neither address nor certificate")
  func descriptions() throws {
    let server = try WispServer("obfs4:hidden.test:1234?cert=\(Self.certificate)&iat-mode=1")
    #expect("\(server)" == "obfs4:*** iat-mode=1")
    #expect("\(ViaChain(hops: [.obfs4(server)]))" == "obfs4:*** iat-mode=1")
    var dumped = ""
    dump(ViaChain(hops: [.obfs4(server)]), to: &dumped)
    dump(server, to: &dumped)
    dump([server.certificate: server], to: &dumped)
    let children = Mirror(reflecting: server).children.map { "\($0)" }
    for text in [dumped, String(reflecting: server), "\(Optional(server) as Any)"] + children {
      for secret in ["hidden", "1234", String(Self.certificate.prefix(8)), "AwQF"] {
        #expect(!text.contains(secret), "\(text)")
      }
    }
  }
}
