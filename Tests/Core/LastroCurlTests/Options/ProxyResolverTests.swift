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
    "The environment's proxy is not used for local addresses",
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

  @Test(
    "An explicit bypass list or proxy also applies to loopback hosts",
    arguments: ["localhost", "127.0.0.1:80", "[::1]"])
  func ownWord(authority: String) throws {
    let list = try ProxyResolver(.environmentBypassing([]), environment: environment)
    #expect(list.proxy(isTLS: false, authority: authority) == "http://plain:1")
    let proxy = try ProxyResolver(.url("http://own:1"), environment: environment)
    #expect(proxy.proxy(isTLS: false, authority: authority) == "http://own:1")
  }

  /// The rows: a list, a URL's scheme and authority, and whether the host is reached without a proxy.
  static let lists: [(String, String, String, Bool)] = [
    ("a.test:8443", "http", "a.test:8443", true), ("a.test:8443", "http", "b.a.test:8443", true),
    ("a.test:8443", "http", "a.test:443", false), ("a.test:8443", "http", "a.test", false),
    ("a.test:80", "http", "a.test", true), ("a.test:80", "https", "a.test", false),
    ("a.test:443", "https", "a.test", true), (".a.test:80", "http", "b.a.test", true), ("*:80", "http", "a.test", true),
    ("*:80", "http", "a.test:81", false), ("[::1]:80", "http", "[::1]", true), ("[::1]:81", "http", "[::1]", false),
    ("[::1]", "http", "[::1]:9", true), ("::1", "http", "[::1]:9", true), ("::1:80", "http", "[::1]", false),
    ("127.0.0.1:1", "http", "127.0.0.1:1", true), ("127.0.0.1:1", "http", "127.0.0.1:2", false),
    ("127.0.0.1:1", "http", "127.0.0.1.test:1", false), ("a.test:http", "http", "a.test", false),
    ("a.test:99999", "http", "a.test", false), ("a.test:", "http", "a.test", false),
    ("a.test:+80", "http", "a.test", false), ("*:+80", "http", "a.test", false),
    ("10.0.0.0/+8", "http", "10.1.2.3:5", false), ("10.0.0.0/-0", "http", "10.1.2.3:5", false),
    ("x.test\ta.test", "http", "a.test", true), ("x.test\na.test", "http", "a.test", true),
    ("x.test\r\na.test\r\n", "http", "a.test", true), ("x.test a.test", "http", "a.test", true),
    (" , x.test ,a.test, ", "http", "a.test", true), ("a.test.:80", "http", "a.test.", true),
    ("10.0.0.0/8", "http", "10.1.2.3:5", true), ("fe80::/10", "http", "[fe80::1]:5", true),
    ("", "http", "a.test", false),
  ]

  @Test("Bypass entries may have a port, and are separated by commas and white space", arguments: lists)
  func list(list: String, scheme: String, authority: String, isDirect: Bool) throws {
    let environment = ProxyResolver { name in
      ["http_proxy": "http://p:1", "https_proxy": "http://p:1", "no_proxy": list][name]
    }
    let options: [ProxyOptions] = [.environmentBypassing([list]), .url("http://p:1", bypass: [list])]
    for option in options + (authority.hasPrefix("127") || authority.hasPrefix("[::1") ? [] : [.environment]) {
      let proxy = try ProxyResolver(option, environment: environment)
        .proxy(isTLS: scheme == "https", authority: authority)
      #expect(proxy == (isDirect ? "" : "http://p:1"), "\(option)")
    }
  }
}
