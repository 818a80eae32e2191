// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroCurl

@Suite("Proxy of a request") struct ProxyResolverTests {
  private let environment = ProxyResolver { name in
    ["http_proxy": "http://plain:1", "https_proxy": "http://tls:1", "no_proxy": "direct.test, 10.0.0.0/8"][name]
  }

  @Test(
    "the environment's is for other machines",
    arguments: [
      ("localhost", true), ("LOCALHOST:8080", true), ("localhost.", true), ("api.localhost:1", true),
      ("127.0.0.1", true),
      ("127.9.8.7:80", true), ("[::1]", true), ("[::1]:8080", true), ("[0:0:0:0:0:0:0:1]", true),
      ("[::ffff:127.0.0.1]:1", true), ("direct.test", true), ("10.1.2.3", true), ("localhost.test", false),
      ("notlocalhost", false), ("128.0.0.1", false), ("126.255.255.255", false), ("[::2]", false), ("[::]", false),
      ("127.0.0.1.test", false), ("example.com:80", false),
    ])
  func loopback(authority: String, isDirect: Bool) throws {
    for isTLS in [false, true] {
      let expected = isDirect ? "" : isTLS ? "http://tls:1" : "http://plain:1"
      let resolver = try ProxyResolver(.environment, environment: environment)
      #expect(resolver.proxy(isTLS: isTLS, authority: authority) == expected)
    }
  }

  @Test("a list or a proxy of one's own is taken at its word", arguments: ["localhost", "127.0.0.1:80", "[::1]"])
  func ownWord(authority: String) throws {
    let list = try ProxyResolver(.environmentBypassing([]), environment: environment)
    #expect(list.proxy(isTLS: false, authority: authority) == "http://plain:1")
    let proxy = try ProxyResolver(.url("http://own:1"), environment: environment)
    #expect(proxy.proxy(isTLS: false, authority: authority) == "http://own:1")
  }
}
