// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Lastro
import LastroTunnels
import Testing

@Suite("Shadowsocks servers as text")
struct ShadowsocksServerTests {
  private struct Vectors: Decodable {
    struct URI: Decodable {
      var uri: String
      var method: String?
      var password: String?
      var host: String?
      var port: Int?
      var error: String?
    }

    var uris: [URI]

    static func read() throws -> Self {
      try JSONDecoder().decode(Self.self, from: ConformanceData.file("transports/shadowsocks-vectors.json"))
    }
  }

  /// Returns the Base64 of a text, with the alphabet for URLs.
  private static func coded(_ text: String) -> String {
    Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
  }

  private static func error(_ text: String) -> ConfigurationError? {
    do throws(ConfigurationError) { _ = try ShadowsocksServer(text) } catch { return error }
    return nil
  }

  @Test("The vectors' URIs are parsed or refused, alone and as hops")
  func vectors() throws {
    let vectors = try Vectors.read()
    #expect(vectors.uris.count == 12)
    for vector in vectors.uris {
      guard vector.error == nil else {
        let error = try #require(Self.error(vector.uri), "\(vector.uri)")
        #expect(error.hint != nil)
        #expect(throws: ConfigurationError.self) { try ViaChain([vector.uri]) }
        continue
      }
      let server = try ShadowsocksServer(vector.uri)
      #expect(server.method.rawValue == vector.method)
      #expect(server.password.reveal() == vector.password)
      #expect(server.host == vector.host)
      #expect(server.port == vector.port)
      #expect(try ViaChain([vector.uri]).hops == [.shadowsocks(server)])
    }
  }

  @Test("Both forms of the user, padded or not, in either alphabet, give the same server; the first colon separates")
  func forms() throws {
    for (password, written) in [
      ("p", "p"), ("a:b@c/d?e#f%", "a%3Ab%40c%2Fd%3Fe%23f%25"), ("ß ü€??>>", "%C3%9F%20%C3%BC%E2%82%AC%3F%3F%3E%3E"),
      (":", ":"), ("a:b:c", "a:b:c"),
    ] {
      for method in ShadowsocksServer.Method.allCases {
        let server = try ShadowsocksServer(host: "a.test", port: 1, method: method, password: Secret(password))
        let user = Self.coded("\(method.rawValue):\(password)")
        let usual = user.replacing("-", with: "+").replacing("_", with: "/")
        for text in [
          user, user.trimmingSuffix("="), user.replacing("=", with: "%3D"), usual,
          "\(method.rawValue):\(written)", "\(method.rawValue.uppercased()):\(written)",
          "\(method.rawValue)%3A\(written)",
        ] {
          for end in ["", "/", "#a@b:c", "/#", "?", "/?", "?a=b&c", "/?plug=in#?plugin=x"] {
            #expect(try ShadowsocksServer("ss://\(text)@A.test:1\(end)") == server, "\(text)\(end)")
          }
        }
      }
    }
  }

  @Test(
    "Every other form is refused without showing any part of the password",
    arguments: [
      "", "ss:", "ss://", "ss://a.test:1", "sss://U@a.test:1", "http://U@a.test:1", "ss:U@a.test:1", "ss://U", "ss://@",
      "ss://U@", "ss://U@a.test", "ss://U@a.test:", "ss://U@a.test:0", "ss://U@a.test:65536", "ss://U@a.test:x",
      "ss://U@a.test:1/path", "ss://U@a b:1", "ss://U@2001:db8::1:443", "ss://U@[2001:db8::1]", "ss://U@:1",
      "ss://U@[::1:1", "ss://U@a.test:1/?plugin=x", "ss://U@a.test:1?plugin", "ss://U@a.test:1?plugin=",
      "ss://U@a.test:1?a=b&%70lugin=x", "ss://U@a.test:1?plugin=x#n", "ss://M@a.test:1", "ss://M:@a.test:1",
      "ss://verysecret@a.test:1", "ss://verysecret:verysecret@a.test:1", "ss://:verysecret@a.test:1",
      "ss://aes-256-gcm:%zz@a.test:1", "ss://aes-256-gcm:%FF@a.test:1", "ss://verysecret", "ss://U=U@a.test:1",
      "ss://none:verysecret@a.test:1", "ss://aes-256-cfb:verysecret@a.test:1",
      "ss://2022-blake3-aes-128-gcm:verysecret@a.test:1", "ss://U@a.test:1\r\nX",
    ])
  func refusals(form: String) throws {
    let user = Self.coded("aes-256-gcm:verysecret").trimmingSuffix("=")
    let text = form.replacing("U", with: user).replacing("M", with: "aes-256-gcm")
    let error = try #require(Self.error(text), "\(text) was accepted")
    #expect(error.hint != nil)
    #expect(!error.description.contains("verysecret"), "\(error)")
    #expect(!error.description.contains(user.dropFirst(16)), "\(error)")
  }

  @Test("Unsupported features are named: stream ciphers, the 2022 methods, plugins, the form before SIP002")
  func hints() throws {
    for cipher in ["rc4-md5", "aes-256-cfb", "AES-128-CTR", "chacha20", "salsa20", "camellia-128-cfb"] {
      let error = try #require(Self.error("ss://\(cipher):x@a.test:1"))
      #expect(error.message == "the Shadowsocks method \(cipher.lowercased()) is a stream cipher, which is broken")
      #expect(error.hint?.contains("chacha20-ietf-poly1305") == true)
    }
    for method in ["2022-blake3-aes-256-gcm", "2022-blake3-chacha20-poly1305"] {
      #expect(try #require(Self.error("ss://\(method):x@a.test:1")).message.contains("2022 (SIP022) are not supported"))
    }
    #expect(try #require(Self.error("ss://aes-256-gcm:x@a.test:1/?plugin=v2ray-plugin")).message.contains("plugin"))
    #expect(try #require(Self.error("ss://\(Self.coded("aes-256-gcm:x@a.test:1"))")).hint?.contains("SIP002") == true)
  }

  @Test("A server without a password or an address is refused")
  func badArguments() {
    for (host, port, password) in [
      ("a.test", 1, ""), ("", 1, "x"), ("a b", 1, "x"), ("a.test", 0, "x"), ("a.test", 65_536, "x"),
    ] {
      #expect(throws: ConfigurationError.self) {
        try ShadowsocksServer(host: host, port: port, method: .aes128GCM, password: Secret(password))
      }
    }
  }

  @Test("Descriptions, dumps and mirrors show no password and no key")
  func descriptions() throws {
    let server = try ShadowsocksServer("ss://aes-256-gcm:verysecret@[2001:DB8::1]:8388#Home")
    #expect("\(server)" == "ss://aes-256-gcm@[2001:db8::1]:8388")
    #expect("\(ViaChain(hops: [.shadowsocks(server)]))" == "ss://aes-256-gcm@[2001:db8::1]:8388")
    var dumped = ""
    dump(ViaChain(hops: [.shadowsocks(server)]), to: &dumped)
    dump([server], to: &dumped)
    for text in [dumped, String(reflecting: server), "\(Mirror(reflecting: server).children.map { "\($0)" })"] {
      #expect(!text.contains("secret") && !text.contains("key"), "\(text)")
    }
  }
}

extension String {
  fileprivate func trimmingSuffix(_ character: Character) -> String {
    var result = self
    while result.last == character { result.removeLast() }
    return result
  }
}
