// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTesting
import Testing

@testable import Lastro
@testable import LastroTunnels

extension ErrorTexts {
  static func chains() -> Self {
    var texts = Self()
    for text in [
      "proxy", "ftp://p:1", "socks4://p:1", "so cks:p", "socks5:p:1", "socks5://p/path", "socks5://p:70000",
      "socks5://user:secret", "socks5://p q:1", "http://p", "socks5://a:%zz@p", "socks5://user@p",
      "socks5://user:\(String(repeating: "x", count: 300))@p", "http://a%3A:b@p:1", "meek:x", "meek:ftp://x",
      "meek:https://x?front=a&front=b", "meek:https://x?front=a/b", "meek:https://x?front=", "meek:https://u:p@x/",
    ] { texts.provoke({ try ViaChain([text]) }) }
    func url(_ text: String) throws -> URL { URL(string: text) ?? URL(filePath: "/") }
    texts.provoke(
      { try ProxyServer(host: "p", port: 0) }, { try ProxyServer(host: "1::2::3", port: 1) },
      { try ProxyServer(host: "a b", port: 1) }, { try MeekServer(to: url("http://f"), serverURL: url("https://m")) },
      { try MeekServer(to: url("https://f/p"), serverURL: url("https://m")) },
      { try ProxyServer(host: "p", port: 1).request(for: unixRequest(), within: nil) })
    return texts
  }

  private static func unixRequest() -> DialRequest {
    var options = ConnectionOptions()
    options.unixSocketPath = "/run/a"
    return DialRequest(host: "a", port: 1, connection: options)
  }

  /// What the dialers say of proxies that answer so.
  static func proxies() async throws -> Self {
    var texts = Self()
    let login = ProxyServer.Credentials(user: "u", password: "p")
    func dial(_ answers: [[UInt8]], _ make: (any Dialer) throws -> any Dialer) async {
      let near = MemoryDialer { _, stream in
        for answer in answers {
          _ = try await stream.read(upTo: 999, within: .seconds(60))
          try await stream.write(Data(answer), within: .seconds(60))
        }
        // A proxy that ended before it was asked would be told of in other words.
        if answers.isEmpty { _ = try await stream.read(upTo: 999, within: .seconds(60)) }
      }
      await texts.provoke { try await make(near).dial(DialRequest(host: "target.example", port: 80)) }
    }
    for answers: [[UInt8]] in [
      [], [[5]], [[4, 0]], [[5, 1]], [[5, 0xFF]], [[5, 0], [4, 0, 0, 1, 0, 0, 0, 0, 0, 0]],
      [[5, 0], [5, 0, 0, 9, 0, 0, 0, 0, 0, 0]], [[5, 0], [5, 9, 0, 1, 0, 0, 0, 0, 0, 0]],
    ] {
      await dial(answers) { try SOCKS5Dialer(proxy: ProxyServer(host: "proxy.example", port: 1080), over: $0) }
    }
    for reply in SOCKS5Reply.allCases where reply != .succeeded {
      await dial([[5, 0], [5, reply.rawValue, 0, 1, 0, 0, 0, 0, 0, 0]]) {
        try SOCKS5Dialer(proxy: ProxyServer(host: "proxy.example", port: 1080), over: $0)
      }
    }
    for answers: [[UInt8]] in [[[5, 0xFF]], [[5, 2], [1, 1]], [[5, 2], [2, 0]]] {
      await dial(answers) {
        try SOCKS5Dialer(proxy: ProxyServer(host: "proxy.example", port: 1080, credentials: login), over: $0)
      }
    }
    for status in ["407", "403", "502", "500", "x"] {
      for credentials in [nil, login] {
        await dial([Array("HTTP/1.1 \(status) \r\nContent-Length: 0\r\n\r\n".utf8)]) {
          try HTTPConnectDialer(proxy: ProxyServer(host: "proxy.example", port: 80, credentials: credentials), over: $0)
        }
      }
    }
    await dial([]) { try HTTPConnectDialer(proxy: ProxyServer(host: "proxy.example", port: 80), over: $0) }
    await texts.provoke { try await NowhereDialer().dial(DialRequest(host: "a", port: 1)) }
    await texts.provoke { try await NowhereDialer().dialDatagrams(DialRequest(host: "a", port: 1)) }
    for stage in [FailureStage.resolve, .connect, .timeout, .send] {
      let error = TransportError(stage: stage, code: .connectFailed, message: "it failed")
      texts.add(error.reaching("the proxy p:1"), error.talking(to: "the proxy p:1"))
    }
    return texts
  }
}
