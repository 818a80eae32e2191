// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroHTTP
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import TestSupport
import Testing

/// The routes of a fetch, each with servers of its own.
enum FetchedWay: CaseIterable, CustomTestStringConvertible {
  case socks5, httpConnect, httpsConnect, meek, obfs4, shadowsocks
  case socks5ThenHTTPConnect, httpConnectThenMeek, socks5ThenShadowsocks, obfs4ThenShadowsocks, shadowsocksThenObfs4

  var testDescription: String { "\(self)" }
}

/// The proxies on this machine, and the chain through them. The last proxy leads to a server on this machine, whatever
/// its name.
private struct Passage {
  let chain: ViaChain
  /// The name that only the last proxy may learn.
  static let host = "far.test"
  /// The targets that the proxies were asked for, starting with the nearest proxy.
  let asked = EventRecorder<String>()
  private let servers: [LoopbackServer]
  private var shadowsocks: LoopbackShadowsocksServer?

  init(_ way: FetchedWay, to port: Int, _ lab: TestAuthority) throws {
    let asked = asked
    let socks = { try LoopbackServer.socks5 { asked.record($0) >= 0 ? 0 : 1 } }
    let http = { (tls: LoopbackTLS?) in
      try LoopbackServer.tunnel(tls: tls) { request in
        asked.record(request.target)
        return nil
      }
    }
    func text(_ server: LoopbackServer, _ scheme: String) -> String { "\(scheme)://127.0.0.1:\(server.port)" }
    var ofObfs4 = LoopbackObfs4Behavior(), ofShadowsocks = LoopbackShadowsocksBehavior()
    ofObfs4.target = .port(port)
    ofShadowsocks.target = .asked
    switch way {
    case .obfs4:
      let bridge = try LoopbackObfs4Server(ofObfs4)
      servers = [bridge.server]
      chain = try ViaChain([bridge.bridgeLine])
    case .shadowsocks, .socks5ThenShadowsocks, .obfs4ThenShadowsocks, .shadowsocksThenObfs4:
      let proxy = try LoopbackShadowsocksServer(ofShadowsocks)
      shadowsocks = proxy
      if way == .obfs4ThenShadowsocks { ofObfs4.target = .port(proxy.port) }
      let bridge = try LoopbackObfs4Server(ofObfs4)
      switch way {
      case .shadowsocks:
        servers = [proxy.server]
        chain = try ViaChain([proxy.uri])
      case .socks5ThenShadowsocks:
        servers = [try socks(), proxy.server]
        chain = try ViaChain([text(servers[0], "socks5"), proxy.uri])
      case .obfs4ThenShadowsocks:
        servers = [bridge.server, proxy.server]
        chain = try ViaChain([bridge.bridgeLine, proxy.uri])
      default:
        servers = [proxy.server, bridge.server]
        chain = try ViaChain([proxy.uri, bridge.bridgeLine])
      }
    case .socks5:
      servers = [try socks()]
      chain = try ViaChain([text(servers[0], "socks5")])
    case .httpConnect:
      servers = [try http(nil)]
      chain = try ViaChain([text(servers[0], "http")])
    case .httpsConnect:
      servers = [try http(lab.tls())]
      chain = try ViaChain([text(servers[0], "https")])
    case .meek:
      servers = [try LoopbackMeekServer(tls: lab.tls(), target: .port(port)).server]
      chain = try ViaChain(["meek:" + text(servers[0], "https") + "/"])
    case .socks5ThenHTTPConnect:
      servers = [try socks(), try http(nil)]
      chain = try ViaChain([text(servers[0], "socks5"), text(servers[1], "http")])
    case .httpConnectThenMeek:
      servers = [try http(nil), try LoopbackMeekServer(tls: lab.tls(), target: .port(port)).server]
      chain = try ViaChain([text(servers[0], "http"), "meek:" + text(servers[1], "https") + "/"])
    }
  }

  /// The targets that the proxies and the Shadowsocks server were asked for.
  var targets: [String] { asked.events + (shadowsocks?.targets ?? []) }
  /// The port of the first server, which is the only one that the base dialer may dial.
  var first: Int { servers[0].port }
}

@Suite("HTTP over chains", .timeLimit(.minutes(15)))
struct FetchOverChainTests {
  private let lab: TestAuthority
  private let tls: LoopbackTLS
  private let pin: String

  init() throws {
    lab = try TestAuthority()
    tls = try lab.tls(Passage.host)
    pin = try TestAuthority.pin(tls.identity)
  }

  private func server(_ version: String) throws -> LoopbackServer {
    var tls = tls
    tls.applicationProtocols = [version]
    return try LoopbackServer.http2(tls: tls) { LoopbackResponse(body: $0.body) }
  }

  private func engine(_ pin: String? = nil) throws -> CurlConfiguration {
    var engine = CurlConfiguration()
    engine.connection = lab.options()
    if let pin { engine.pins = [try PinningPolicy(Passage.host, pins: [pin, TestAuthority.sparePin])] }
    return engine
  }

  private func request(_ server: LoopbackServer, _ body: Data = Data()) throws -> RawHTTPResource {
    .raw(
      try ResourceRequest(
        method: .post, url: server.url(Passage.host), body: RequestBody(source: .bytes(body)),
        options: RequestOptions.patient()))
  }

  @Test(
    "Requests with a body share one pinned connection, and only the chain is asked for the target's name",
    arguments: FetchedWay.allCases, ["http/1.1", "h2"])
  func fetches(way: FetchedWay, version: String) async throws {
    let server = try server(version)
    let passage = try Passage(way, to: server.port, lab)
    let base = WatchedDialer(below: lab.dialer())
    let judge = try TestAuthority.evaluator(Passage.host, pin: pin)
    let dialer = try passage.chain.dialer(over: base, connection: lab.options { $0.tls.trustJudge = judge })
    let stack = TransportNetworkStack(transport: try DialerTransport(over: dialer))
    for number in 0..<3 {
      let body = Data((0..<number * 70_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
      let answer = try await stack.fetch(try request(server, body))
      #expect(answer.value == body)
      #expect(answer.response.facts.httpVersion == (version == "h2" ? "2" : "1.1"))
      #expect(answer.response.facts.trust == .pinned)
      #expect(answer.response.facts.connectionReused == (number > 0))
    }
    #expect(server.acceptedConnections == 1)
    #expect(base.hosts == ["127.0.0.1:\(passage.first)"])
    #expect(passage.targets.filter { $0.contains(Passage.host) }.count == (way.isTold ? 1 : 0))
  }

  @Test(
    "A stack over a chain uses the engine's pins, and sends nothing to another key or in the clear",
    arguments: FetchedWay.allCases, ["http/1.1", "h2"])
  func pins(way: FetchedWay, version: String) async throws {
    let server = try server(version)
    let passage = try Passage(way, to: server.port, lab)
    let right = try passage.chain.stack(on: CurlTransport(engine(pin)))
    #expect(try await right.fetch(request(server)).response.facts.trust == .pinned)
    let wrong = try passage.chain.stack(on: CurlTransport(engine(TestAuthority.absentPin)))
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await wrong.fetch(request(server)) }
    #expect(error?.code == .pinMismatch && error?.attempts.contains(where: \.requestSent) == false)
    #expect(server.requests.count == 1)
    let accepted = server.acceptedConnections
    let asked = passage.targets.count
    let plain = try ResourceRequest(url: "http://\(Passage.host):\(server.port)/", options: .patient())
    let inTheClear = await #expect(throws: HTTPFetchError<any Error>.self) { try await wrong.fetch(.raw(plain)) }
    #expect(inTheClear?.code == .plaintextRefused)
    #expect(server.acceptedConnections == accepted && passage.targets.count == asked)
  }

  @Test("Connections are not shared between stacks, chains and the engine")
  func sharing() async throws {
    let server = try server("h2")
    let ways = try [FetchedWay.socks5, .httpConnect, .obfs4, .shadowsocks, .socks5ThenShadowsocks].map {
      try Passage($0, to: server.port, lab)
    }
    var configuration = try engine(pin)
    configuration.connection.resolutions = [.init(host: Passage.host, port: server.port, addresses: ["127.0.0.1"])]
    let engine = try CurlTransport(configuration)
    let stacks: [any HTTPNetworkStack] = try [
      ways[0].chain.stack(on: engine), ways[0].chain.stack(on: engine), ways[1].chain.stack(on: engine),
      ways[2].chain.stack(on: engine), ways[3].chain.stack(on: engine), ways[4].chain.stack(on: engine),
      ViaChain().stack(on: engine), CurlNetworkStack(sharing: engine),
    ]
    for isReused in [false, true] {
      for stack in stacks {
        #expect(try await stack.fetch(request(server)).response.facts.connectionReused == isReused)
      }
    }
    #expect(server.acceptedConnections == stacks.count)
    #expect(ways[0].asked.events == Array(repeating: "\(Passage.host):\(server.port)", count: 2))
    for way in [ways[1], ways[3]] { #expect(way.targets == ["\(Passage.host):\(server.port)"]) }
  }

  @Test("A hop that refuses is named, and no request was sent")
  func refusals() async throws {
    let refusing = try LoopbackServer.socks5 { _ in 2 }
    let stack = try ViaChain(["socks5://127.0.0.1:\(refusing.port)"]).stack(on: CurlTransport(engine()))
    let request = try ResourceRequest(url: "https://far.test/", options: .patient())
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(.raw(request)) }
    #expect(error?.stage == .proxy && error?.code == .proxyRefused)
    #expect(error?.message.contains("127.0.0.1:\(refusing.port)") == true)
    #expect(error?.attempts.contains(where: \.requestSent) == false)
  }

  @Test("The engine's limits and its user agent apply over a chain")
  func limits() async throws {
    let agents = EventRecorder<[String]>()
    let server = try LoopbackServer.http(tls: tls) { request in
      agents.record(request.head.values("User-Agent"))
      return LoopbackResponse(headers: ["X-Long": String(repeating: "x", count: 2_000)], body: Array("fine".utf8))
    }
    let passage = try Passage(.socks5, to: server.port, lab)
    var configuration = try engine()
    let wide = try passage.chain.stack(on: CurlTransport(configuration))
    #expect(try await wide.fetch(request(server)).value == Data("fine".utf8))
    #expect(agents.events.first?.first?.hasPrefix("Lastro/") == true)
    configuration.maximumHeadBytes = 1_000
    let narrow = try passage.chain.stack(on: CurlTransport(configuration))
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await narrow.fetch(request(server)) }
    #expect(error?.code == .headTooLarge)
  }

  @Test("An explanation names the chain without its passwords")
  func explanation() async throws {
    let stack = try ViaChain(["socks5://ann:hush@127.0.0.1:9", "http://127.0.0.1:9"]).stack(on: CurlTransport(engine()))
    let page = await stack.explain(HTTPResource<Data, any Error>.get("https://far.test/"))
    #expect(page.contains("socks5://ann@127.0.0.1:9 → http://127.0.0.1:9"), "\(page)")
    #expect(!page.contains("hush"))
  }
}

extension FetchedWay {
  /// Whether a hop learns the target's host. The servers of meek and obfs4 have a fixed target.
  fileprivate var isTold: Bool { ![.meek, .httpConnectThenMeek, .obfs4, .shadowsocksThenObfs4].contains(self) }
}

extension RequestOptions {
  /// Returns options with time limits that no test should reach.
  fileprivate static func patient() throws -> RequestOptions {
    var options = RequestOptions()
    options.timeouts = try Timeouts(connect: .seconds(200), attempt: nil, idle: .seconds(200), total: .seconds(240))
    return options
  }
}

/// A dialer that records its targets, and fails the test if it is asked for the name that only the chain may learn.
private struct WatchedDialer: Dialer {
  let below: any Dialer
  private let dialed = EventRecorder<String>()

  init(below: any Dialer) { self.below = below }

  /// The dialed hosts with their ports, each once.
  var hosts: Set<String> { Set(dialed.events) }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    dialed.record("\(request.host):\(request.port)")
    #expect(request.host != Passage.host, "the target's name reached the base dialer")
    return try await below.dial(request)
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }
  func trustRevisions(for request: DialRequest) -> [UInt64] { below.trustRevisions(for: request) }
}
