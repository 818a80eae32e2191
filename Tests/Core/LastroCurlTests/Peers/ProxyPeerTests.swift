// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import PeerSupport
import TestSupport
import Testing

@Suite("squid and Dante: proxies", .peers(.nginx, .squid, .dante), .timeLimit(.minutes(15)))
struct ProxyPeerTests {
  private func stack(_ proxy: String, bypass: [String] = []) throws -> CurlNetworkStack {
    let authority = try Peers.nginx.certificates.authority
    return try .direct {
      $0.connection.tls.roots = .file(authority)
      $0.connection.proxy = .url(proxy, bypass: bypass)
    }
  }

  private var plain: String { get throws { "http://127.0.0.1:\(try Peers.nginx.ports.plain)" } }
  private var tls: String { get throws { "https://localhost:\(try Peers.nginx.ports.tls)" } }

  @Test("An HTTP proxy forwards http and tunnels https")
  func http() async throws {
    let squid = try Peers.squid
    let stack = try stack("http://127.0.0.1:\(squid.port)")
    #expect(try await stack.send(.get, plain + "/files/1k").value.count == 1024)
    let secure = try await stack.send(.get, tls + "/files/1k")
    #expect(secure.value.count == 1024)
    #expect(secure.response.facts.httpVersion == "2")
    let port = try Peers.nginx.ports.tls
    #expect(
      await eventually {
        squid.accessLog().contains { $0.hasPrefix("GET http://127.0.0.1:") && $0.contains("/files/1k 200") }
      })
    // squid logs a tunnel when it ends.
    await stack.shutDown()
    #expect(await eventually { squid.accessLog().contains { $0.hasPrefix("CONNECT localhost:\(port) ") } })
    #expect(!squid.accessLog().contains { $0.contains("https:") })
  }

  @Test("A second request reuses the tunnel of the first")
  func tunnelReuse() async throws {
    let stack = try stack("http://127.0.0.1:\(try Peers.squid.port)")
    let first = try await stack.send(.get, tls + "/connection").text.split(separator: " ")
    let second = try await stack.send(.get, tls + "/connection")
    #expect(second.text.split(separator: " ")[0] == first[0])
    #expect(second.response.facts.connectionReused)
  }

  @Test("An HTTPS proxy forwards http and tunnels https")
  func https() async throws {
    let squid = try Peers.squid
    let both = try PeerDirectory()
    let authorities =
      try Data(contentsOf: URL(filePath: squid.certificates.authority))
      + Data(contentsOf: URL(filePath: Peers.nginx.certificates.authority))
    let file = try both.write(authorities, to: "ca.pem")
    let stack = try CurlNetworkStack.direct {
      $0.connection.tls.roots = .file(file)
      $0.connection.proxy = .url("https://localhost:\(squid.tlsPort)")
    }
    #expect(try await stack.send(.get, plain + "/json").text == #"{"message":"hello"}"#)
    #expect(try await stack.send(.get, tls + "/json").text == #"{"message":"hello"}"#)
  }

  @Test("An untrusted HTTPS proxy is sent nothing")
  func untrustedProxy() async throws {
    let squid = try Peers.squid
    let stack = try CurlNetworkStack.direct { $0.connection.proxy = .url("https://localhost:\(squid.tlsPort)") }
    let error = try await failure { try await stack.send(.get, plain + "/files/64k") }
    #expect(error.words == "proxy/untrusted_certificate")
    #expect(error.attempts.map(\.requestSent) == [false])
    #expect(!squid.accessLog().contains { $0.contains("/files/64k") })
  }

  // Dante and nginx support IPv4 only, and the address that libcurl passes to a proxy for a name depends on its
  // version.
  @Test("SOCKS 5 forwards http and https, by address and by name", .needsDante, arguments: ["socks5", "socks5h"])
  func socks(scheme: String) async throws {
    let dante = try Peers.dante
    let before = dante.log().count
    let nginx = try Peers.nginx
    let stack = try CurlNetworkStack.direct {
      $0.connection.tls.roots = .file(nginx.certificates.authority)
      $0.connection.proxy = .url("\(scheme)://127.0.0.1:\(dante.port)")
      $0.connection.resolutions = [.init(host: "localhost", port: nginx.ports.tls, addresses: ["127.0.0.1"])]
    }
    #expect(try await stack.send(.get, plain + "/json").text == #"{"message":"hello"}"#)
    #expect(try await stack.send(.get, tls + "/json").text == #"{"message":"hello"}"#)
    #expect(await eventually { dante.log().count > before })
  }

  @Test("A proxy that is unreachable, unknown or refuses is a proxy failure", .needsDante)
  func failures() async throws {
    let (squid, dante) = (try Peers.squid, try Peers.dante)
    let dead = try Loopback.freePort()
    let cases: [(proxy: String, url: String, words: String)] = [
      ("http://127.0.0.1:\(dead)", try plain, "proxy/proxy_connect_failed"),
      ("http://127.0.0.1:\(dead)", try tls, "proxy/proxy_connect_failed"),
      ("socks5://127.0.0.1:\(dead)", try plain, "proxy/proxy_connect_failed"),
      ("http://nobody.invalid:1", try plain, "proxy/proxy_not_found"),
      ("http://127.0.0.1:\(squid.port)", "https://refused.test", "proxy/proxy_refused"),
      ("http://127.0.0.1:\(squid.authenticatedPort)", try tls, "proxy/proxy_refused"),
      ("socks5://127.0.0.1:\(dante.port)", "http://127.0.0.1:\(dead)", "proxy/proxy_refused"),
    ]
    for (proxy, url, words) in cases {
      let stack = try stack(proxy)
      let error = try await failure { try await stack.send(.get, url + "/json") }
      #expect(error.words == words, "\(proxy) \(url)")
      #expect(error.attempts.map(\.requestSent) == [false], "\(proxy) \(url)")
    }
  }

  @Test("A proxy's own response to a plain request is returned; 407 is a proxy failure")
  func answersOfTheProxy() async throws {
    let squid = try Peers.squid
    let refused = try stack("http://127.0.0.1:\(squid.port)")
    let error = try await failure { try await refused.send(.get, "http://refused.test/") }
    #expect(error.statusCode?.code == 403)
    let unknown = try stack("http://127.0.0.1:\(squid.authenticatedPort)")
    let asked = try await failure { try await unknown.send(.get, plain + "/json") }
    #expect(asked.words == "proxy/proxy_refused")
    #expect(asked.hint != nil)
  }

  @Test("Credentials in the proxy's URL are sent to the proxy only")
  func credentials() async throws {
    let squid = try Peers.squid
    let stack = try stack("http://\(SquidPeer.user):\(SquidPeer.password)@127.0.0.1:\(squid.authenticatedPort)")
    let answer = try await stack.send(.get, plain + "/echo")
    #expect(!answer.text.contains("Basic"))
    #expect(try await stack.send(.get, tls + "/json").text == #"{"message":"hello"}"#)
    let wrong = try self.stack("http://\(SquidPeer.user):wrong-word@127.0.0.1:\(squid.authenticatedPort)")
    let error = try await failure { try await wrong.send(.get, tls + "/json") }
    #expect(error.words == "proxy/proxy_refused")
    #expect(!"\(error)\(error.debugDescription)".contains("wrong-word"))
  }

  @Test("Hosts of the bypass list are reached without the proxy")
  func bypass() async throws {
    let proxy = "http://127.0.0.1:\(try Loopback.freePort())"
    for list in [["127.0.0.1"], ["*"], ["127.0.0.0/8"], ["other.test", "127.0.0.1"]] {
      let answer = try await stack(proxy, bypass: list).send(.get, plain + "/json")
      #expect(answer.response.status.code == 200)
    }
    let stack = try stack(proxy, bypass: ["10.0.0.0/8", "localhost"])
    let error = try await failure { try await stack.send(.get, plain + "/json") }
    #expect(error.stage == .proxy)
  }

  @Test("A proxy with an unknown scheme is refused before anything is sent")
  func schemes() async throws {
    for proxy in ["ftp://127.0.0.1:1", "http://127.0.0.1:1 x", ""] {
      let stack = try stack(proxy)
      let error = try await failure { try await stack.send(.get, plain + "/json") }
      #expect(error.words == "request/invalid_option", "\(proxy)")
    }
  }

  @Test("Certificates are judged through a proxy as without one", .needsDante)
  func judgedThroughProxy() async throws {
    let squid = try Peers.squid
    let nginx = try Peers.nginx
    for proxy in ["http://127.0.0.1:\(squid.port)", "socks5h://127.0.0.1:\(try Peers.dante.port)"] {
      let stack = try CurlNetworkStack.direct {
        $0.connection.proxy = .url(proxy)
        $0.connection.tls.roots = .file(nginx.certificates.stranger)
      }
      let error = try await failure { try await stack.send(.get, tls + "/json") }
      #expect(error.words == "tls/untrusted_certificate")
      #expect(error.attempts.map(\.requestSent) == [false])
    }
  }
}
