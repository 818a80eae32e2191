// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting
import LastroTunnels
import TestSupport
import Testing

@Suite("Tunnel chains as text", .timeLimit(.minutes(15)))
struct ViaChainTests {
  @Test(
    "Every form is parsed",
    arguments: [
      ("socks5://127.0.0.1:9050", "socks5://127.0.0.1:9050"), ("SOCKS5H://Proxy.test", "socks5://proxy.test:1080"),
      ("socks5://ann:s%40c%3Aret@[::1]:1", "socks5://ann@[::1]:1"), ("http://p.test:3128/", "http://p.test:3128"),
      ("http://a%3Ab@p.test:1", ""), ("https://p.test", "https://p.test:443"),
      ("https://ann:secret@p.test:8443", "https://ann@p.test:8443"), ("meek:https://m.test/x", "meek:https://m.test"),
      ("meek:https://m.test/x?front=cdn.test", "meek:https://cdn.test for m.test"),
      ("meek:http://m.test:81/x?k=v&front=cdn.test:82&l=w", "meek:http://cdn.test:82 for m.test:81"),
    ])
  func forms(text: String, description: String) throws {
    guard !description.isEmpty else {
      #expect(throws: ConfigurationError.self) { try ViaChain.Hop(text) }
      return
    }
    let hop = try ViaChain.Hop(text)
    #expect("\(hop)" == description)
    #expect(!String(reflecting: hop).contains("secret"))
    #expect(!"\(hop)".contains("s@c:ret"))
  }

  @Test("User and password are decoded")
  func credentials() throws {
    guard case .socks5(let proxy) = try ViaChain.Hop("socks5://a%40b:c%3Ad%25@p.test") else {
      throw CancellationError()
    }
    #expect(proxy.credentials?.user == "a@b")
    #expect(proxy.credentials?.password.reveal() == "c:d%")
  }

  @Test(
    "Any other text is refused with a hint and without the secret",
    arguments: [
      "", "proxy", "proxy:1080", "ftp://p:1", "socks4://p:1", "socks5:p:1", "socks5://", "socks5://:1", "socks5://p:0",
      "socks5://p:65536", "socks5://p:x", "socks5://p/path", "socks5://p?q", "http://p", "http://p:1/x", "http://p q:1",
      "socks5://verysecret@p", "socks5://verysecret:@p", "socks5://a:%zz@p", "http://a:verysecret@",
      "http://a:verysecret@p",
      "meek:", "meek:x", "meek:ftp://x", "meek:https://", "meek:https://u:verysecret@x/", "meek:https://x?front=",
      "meek:https://x?front=a&front=b", "meek:https://x?front=a/b", "socks5://p\r\nX:1",
      "http://a:b%0D%0Averysecret@p:1",
    ])
  func refusals(text: String) throws {
    do {
      let chain = try ViaChain(["socks5://ok.test", text])
      Issue.record("\(chain)")
    } catch {
      #expect(error.message.hasPrefix("hop 2 of the chain: "))
      #expect(error.hint != nil)
      #expect(!error.description.contains("verysecret"))
    }
  }

  @Test("Text in place of a port is shown only if it is of ASCII digits")
  func foreignDigits() {
    let error = #expect(throws: ConfigurationError.self) { try ViaChain(["http://ann:٣٤"]) }
    #expect(error?.description.contains("٣٤") == false)
  }

  @Test("A chain's description lists its hops, and an empty chain is straight")
  func descriptions() throws {
    #expect("\(ViaChain())" == "straight")
    #expect("\(try ViaChain(["socks5://a:pw@b", "http://c:1"]))" == "socks5://a@b:1080 → http://c:1")
    #expect(try ViaChain([]) == ViaChain())
  }

  @Test("The hops are dialed starting with the nearest, each with TLS if needed")
  func building() async throws {
    let heads = EventRecorder<String>()
    let base = MemoryDialer { request, stream in
      #expect(request.host == "first.test")
      let far = FarEnd(stream)
      _ = try await far.read(3)
      try await far.write([5, 0])
      let name = try await far.read(4 + 1 + 11 + 2)
      heads.record(String(decoding: name.dropFirst(5).prefix(11), as: UTF8.self))
      try await far.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
      heads.record(try await far.readHead())
      try await far.write("HTTP/1.1 200 OK\r\n\r\n")
      try await far.echo()
    }
    let secured = EventRecorder<String>()
    let dialer = try ViaChain(["socks5://first.test", "http://second.test:2"]).dialer(over: base) { transport in
      secured.record("\(type(of: transport))")
      return transport
    }
    let stream = try await dialer.dial(DialRequest(host: "third.test", port: 3, connectTimeout: .seconds(600)))
    try await stream.write(Data([1]))
    #expect(try await stream.bytes(exactly: 1).first == 1)
    #expect(heads.events == ["second.test", "CONNECT third.test:3 HTTP/1.1\r\nHost: third.test:3\r\n\r\n"])
    #expect(secured.events == ["SOCKS5Dialer", "HTTPConnectDialer"])
  }
}
