// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import Lastro
@testable import LastroCurl
@testable import LastroEveryday
@testable import LastroResilience
@testable import LastroWebSocket

/// Options that contradict each other or are out of range are refused before anything is sent.
@Suite("Refused options")
struct RefusedOptionsTests {
  @Test("An engine refuses a configuration that is out of range or contradicts itself")
  func engine() throws {
    let pins = ["A", "B"].map { "sha256/" + String(repeating: $0, count: 43) + "=" }
    let policy = try PinningPolicy("a.example", pins: pins)
    let judge = ServerTrustEvaluator(configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: true))
    let edits: [(inout CurlConfiguration) -> Void] = [
      {
        $0.pins = [policy]
        $0.connection.tls.trustJudge = judge
      }, { $0.pins = [policy, policy] }, { $0.loops = 0 }, { $0.loops = 65 }, { $0.maximumQueuedRequests = -1 },
      { $0.userAgent = "a\n" }, { $0.maximumContentCodings = 9 }, { $0.idleLifetime = .zero },
    ]
    for (index, edit) in edits.enumerated() {
      var configuration = CurlConfiguration()
      edit(&configuration)
      #expect(throws: ConfigurationError.self, "edit \(index)") { _ = try configuration.checked() }
    }
  }

  @Test("TLS options with unknown ciphers, no version, ambiguous hosts or files that cannot be read are refused")
  func tls() {
    let identity = TLSOptions.Identity(certificate: .bytes([]))
    let edits: [(inout TLSOptions) -> Void] = [
      { $0.cipherSuites = [] }, { $0.cipherSuites = ["x"] }, { $0.legacyCiphers = ["x"] },
      { $0.maximumVersion = .v1_1 }, { $0.hostIdentities = ["a b": identity] },
      { $0.hostIdentities = ["a.example": identity, "A.example": identity] },
    ]
    let ids: [TLSOptions.Peer] = [
      .spiffe([]), .ids("spiffe://a.test"), .ids("spiffe://a.test/x", "spiffe://a.test"),
      .ids("spiffe://a.test/x", "spiffe://b.test/x"),
    ]
    for peer in ids {
      var options = TLSOptions()
      options.roots = .file("/run/bundle.pem")
      options.peer = peer
      let error = #expect(throws: TransportError.self, "\(peer)") { try options.check() }
      #expect(error?.words == "tls/invalid_tls_configuration" && error?.hint?.isEmpty == false, "\(peer)")
    }
    for peer in [TLSOptions.Peer.ids("spiffe://a.test/x", "spiffe://a.test/y"), .ids("spiffe://a.test/x")] {
      var options = TLSOptions()
      options.peer = peer
      let error = #expect(throws: TransportError.self, "\(peer)") { try options.check() }
      #expect(error?.message == "a SPIFFE ID is required, and the trusted roots are the system's", "\(peer)")
      options.roots = .pem([])
      #expect(throws: Never.self, "\(peer)") { try options.check() }
    }
    for (index, edit) in edits.enumerated() {
      var options = TLSOptions()
      edit(&options)
      let error = #expect(throws: TransportError.self, "edit \(index)") {
        try options.check()
        _ = try ClientIdentities(options)
      }
      #expect(error?.words == "tls/invalid_tls_configuration", "edit \(index)")
    }
    let broken = Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
    let roots: [TLSOptions.Roots] = [
      .file("/nowhere/roots.pem"), .file("/"), .directory("/nowhere"), .pem([]), .pem(broken),
    ]
    for source in roots {
      let error = #expect(throws: TransportError.self) { _ = try RootStore(source) }
      #expect(error?.words == "tls/invalid_tls_configuration", "\(source)")
    }
    let log = #expect(throws: TransportError.self) { _ = try KeyLogFile(path: "/nowhere/keys") }
    #expect(log?.words == "tls/invalid_tls_configuration")
  }

  @Test("Application protocols have 1 to 255 bytes each, and 65533 bytes together")
  func applicationProtocols() {
    for names in [[""], Array(repeating: String(repeating: "a", count: 255), count: 999)] {
      let error = #expect(throws: TransportError.self) { _ = try ALPNOffer.wireForm(names) }
      #expect(error?.words == "request/invalid_option")
    }
  }

  @Test("A WebSocket refuses subprotocols, limits and addresses that cannot be used")
  func webSocket() {
    let edits: [(inout WebSocketConfiguration) -> Void] = [
      { $0.subprotocols = ["a b"] }, { $0.subprotocols = ["a", "a"] }, { $0.maximumMessageBytes = 0 },
      { $0.maximumOutgoingFrameBytes = .max }, { $0.maximumFragmentedMessageBytes = 1 }, { $0.closeTimeout = .zero },
      { $0.compression = WebSocketConfiguration.Compression(minimumBytes: -1) },
      { $0.compression = WebSocketConfiguration.Compression(serverMaximumWindowBits: 99) },
      { $0.address = ("a.example", 70_000) }, { $0.address = ("", nil) },
    ]
    for (index, edit) in edits.enumerated() {
      var configuration = WebSocketConfiguration()
      edit(&configuration)
      let error = #expect(throws: WebSocketError.self, "edit \(index)") { try configuration.check() }
      #expect(error?.description.hasPrefix("request/invalid_option: ") == true, "edit \(index)")
    }
  }

  @Test("Streams of events and of JSON refuse limits that are not positive, and event IDs that cannot be sent")
  func events() {
    let edits: [(inout EventStreamOptions) -> Void] = [
      { $0.maximumEventBytes = 0 }, { $0.firstEvent = .zero }, { $0.maximumReconnections = -1 },
      { $0.lastEventID = "a\nb" }, { $0.lastEventID = String(repeating: "x", count: 4097) },
    ]
    for (index, edit) in edits.enumerated() {
      var options = EventStreamOptions()
      edit(&options)
      let error = #expect(throws: TransportError.self, "edit \(index)") { try options.check() }
      #expect(error?.words == "request/invalid_option", "edit \(index)")
    }
    let jsonEdits: [(inout JSONStreamOptions) -> Void] = [{ $0.maximumTextBytes = 0 }, { $0.firstText = .seconds(-1) }]
    for (index, edit) in jsonEdits.enumerated() {
      var options = JSONStreamOptions()
      edit(&options)
      let error = #expect(throws: TransportError.self, "edit \(index)") { try options.check() }
      #expect(error?.words == "request/invalid_option", "edit \(index)")
    }
  }

  @Test("Downloads and uploads refuse options that are out of range, and digests that are not digests")
  func files() throws {
    let downloads: [(inout DownloadOptions) -> Void] = [
      { $0.maximumRestarts = -1 }, { $0.segments = 9 }, { $0.maximumBytes = -1 },
      { $0.sha256 = "12" }, { $0.sha512 = "zz" },
    ]
    for (index, edit) in downloads.enumerated() {
      var options = DownloadOptions()
      edit(&options)
      #expect(throws: TransportError.self, "edit \(index)") { try options.check() }
    }
    let uploads: [(inout UploadOptions) -> Void] = [
      { $0.bytesPerAppend = 0 }, { $0.metadata = ["a b": ""] }, { $0.sendsDigests = true },
    ]
    for (index, edit) in uploads.enumerated() {
      var options = UploadOptions()
      edit(&options)
      #expect(throws: TransportError.self, "edit \(index)") { try options.check() }
    }
    let post = try ResourceRequest(method: .post, url: "https://example.org/")
    let method = #expect(throws: TransportError.self) { try post.checkDownload() }
    #expect(method?.words == "request/invalid_method")
    let range = try ResourceRequest(url: "https://example.org/", headers: ["Range": "bytes=0-"])
    let field = #expect(throws: TransportError.self) { try range.checkDownload() }
    #expect(field?.words == "request/invalid_header")
  }

  @Test("Forms refuse boundaries, fields, trailers and lengths that a part cannot have")
  func forms() {
    let edits: [(inout MultipartForm) -> Void] = [
      { $0 = MultipartForm(boundary: "a\nb") }, { $0.add("a\n", Data(), fields: ["Content-Type": "x"]) },
      { $0.add("a", Data(), contentType: "a/b\n") },
      { $0.add("a", RequestBody(source: .bytes(Data()), trailers: { [:] })) },
      { $0.add("a", RequestBody(source: .stream(length: -1, isReplayable: true, open: { { nil } }))) },
    ]
    for (index, edit) in edits.enumerated() {
      var form = MultipartForm()
      edit(&form)
      #expect(throws: TransportError.self, "edit \(index)") { _ = try RequestBody.multipart(form) }
    }
  }

  @Test("Limits of resilience and egress are checked by their initializers")
  func limits() throws {
    let endpoint = try Endpoint("https://a.example.org")
    let attempts: [() throws -> Void] = [
      { _ = try CircuitBreaker(minimumCalls: 1) }, { _ = try CircuitBreaker(window: .calls(10)) },
      { _ = try CircuitBreaker(failureRatio: 0) }, { _ = try CircuitBreaker(window: .time(.zero)) },
      { _ = try CircuitBreaker(window: .calls(100_001)) },
      { _ = try CircuitBreaker(breakDuration: .seconds(2_000_000_000)) },
      { _ = try ConcurrencyLimiter(limit: 0) }, { _ = try ConcurrencyLimiter(limit: .max) },
      { _ = try ConcurrencyLimiter(range: 1...Int.max) }, { _ = try ConcurrencyLimiter(backoff: 1) },
      { _ = try ConcurrencyLimiter(initial: 500, followsLatency: true) }, { _ = try Hedger(additional: 5) },
      { _ = try Hedger(delay: .percentile(0.9, fallback: .zero)) },
      { _ = try Pacer(perSecond: 0) }, { _ = try Pacer(perSecond: 1, burst: 2_000_000) }, { _ = try Pacer(burst: 0) },
      { _ = try Endpoint("ftp://a.example.org") },
      { _ = try EndpointSet([String]()) }, { _ = try EndpointSet(Array(repeating: endpoint, count: 1_001)) },
      { _ = try EndpointSet(["https://a.example.org"], backups: ["ftp://b.example.org"]) },
      { _ = try AddressRange("localhost") }, { _ = try AddressRange("10.0.0.0/33") },
      { _ = try AddressRange("10.0.0.0", ports: 0...70_000) },
    ]
    for (index, attempt) in attempts.enumerated() {
      #expect(throws: ConfigurationError.self, "attempt \(index)") { try attempt() }
    }
  }

  @Test("A resolver over HTTPS needs a server, encryption and a time limit")
  func resolver() {
    let stack = TransportNetworkStack(transport: ScriptedTransport())
    let settings: [([String], Duration)] = [
      ([], .seconds(1)), (["http://dns.example/"], .seconds(1)), (["https://dns.example/"], .zero),
    ]
    for (servers, timeout) in settings {
      #expect(throws: ConfigurationError.self, "\(servers)") {
        _ = try CachingResolver(doh: servers, over: stack, timeout: timeout)
      }
    }
  }
}
