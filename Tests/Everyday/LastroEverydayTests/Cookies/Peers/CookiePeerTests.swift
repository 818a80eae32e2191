// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroEveryday
import LastroWire
import PeerSupport
import TestSupport
import Testing

@Suite("nginx and Python: cookies", .peers(.nginx, .python), .timeLimit(.minutes(15)))
struct CookiePeerTests {
  private static func stack(_ jar: CookieJar, roots: String? = nil) throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    if let roots { engine.connection.tls.roots = .file(roots) }
    var configuration = StackConfiguration()
    configuration.cookies = jar
    return try CurlNetworkStack(engine, configuration: configuration)
  }

  private static func text(_ stack: CurlNetworkStack, _ url: String) async throws -> String {
    String(decoding: try await stack.fetch(.raw(try ResourceRequest(url: url))).value, as: UTF8.self)
  }

  private struct Seen: Decodable { var cookies: [String: String] }

  @Test("Python's http.cookies counts visits in a cookie and reads back its own cookies")
  func python() async throws {
    let jar = CookieJar()
    let stack = try Self.stack(jar)
    let base = "http://127.0.0.1:\(try Peers.python.port)"
    var visits: [String?] = []
    for _ in 0..<3 {
      let text = try await Self.text(stack, base + "/cookies/a")
      visits.append(try JSONDecoder().decode(Seen.self, from: Data(text.utf8)).cookies["visits"])
    }
    #expect(visits == [nil, "1", "2"])
    let seen = try JSONDecoder().decode(Seen.self, from: Data(try await Self.text(stack, base + "/cookies/b").utf8))
    #expect(seen.cookies == ["visits": "3", "place": "/cookies/a"])
    #expect(try await Self.text(stack, base + "/echo").contains("visits") == false)
    let visit = try #require(jar.cookies.first { $0.name == "visits" })
    #expect(visit.path == "/cookies" && visit.isHTTPOnly && visit.expiry != nil && visit.domain == "127.0.0.1")
  }

  @Test("nginx gets back the cookies of add_header, and the Secure one over TLS only")
  func nginx() async throws {
    let nginx = try Peers.nginx
    let jar = CookieJar()
    let stack = try Self.stack(jar, roots: nginx.certificates.authority)
    let secure = "https://localhost:\(nginx.ports.tls)", plain = "http://localhost:\(nginx.ports.plain)"
    #expect(try await Self.text(stack, secure + "/cookies") == "\n")
    #expect(try await Self.text(stack, secure + "/cookies") == "session=31d4; proof=a=b\n31d4")
    #expect(try await Self.text(stack, plain + "/cookies") == "session=31d4\n31d4")
    #expect(jar.cookies.first { $0.name == "proof" }?.sameSite == .lax)
  }

  @Test("A cookie set by a 503 is stored")
  func unavailable() async throws {
    let nginx = try Peers.nginx
    let jar = CookieJar()
    let stack = try Self.stack(jar)
    await #expect(throws: (any Error).self) {
      try await Self.text(stack, "http://127.0.0.1:\(nginx.ports.plain)/cookies/503")
    }
    #expect(jar.cookies.map(\.name) == ["busy"])
  }
}
