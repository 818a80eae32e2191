// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport
import Testing

@Suite("A stack with a cache", .timeLimit(.minutes(15)))
struct CachingTransportTests {
  static let fresh: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"v1\""]

  @Test("A fresh response is served without the server, with its age")
  func hit() async throws {
    let world = CacheWorld(Self.fresh)
    #expect(try await world.get().outcome == .missed)
    world.clock.advance(by: .seconds(7))
    let got = try await world.get()
    #expect(got.body == "body 0" && got.outcome == .hit && got.fields[.age] == "7")
    #expect(got.report?.ttl == 53 && got.report?.age == 7)
    #expect(world.transfers == 1)
  }

  @Test("A stale response is validated, and a 304 serves the stored one with updated fields")
  func validated() async throws {
    let world = CacheWorld { (request, number) throws(TransportError) in
      if number == 0 { return .answer(200, fields: Self.fresh, body: "old") }
      #expect(request.head.headerFields[.ifNoneMatch] == "\"v1\"")
      return .answer(304, fields: [.eTag: "\"v1\"", .cacheControl: "max-age=90"])
    }
    try await world.get()
    world.clock.advance(by: .seconds(61))
    let got = try await world.get()
    #expect(got.body == "old" && got.status == 200 && got.outcome == .revalidated)
    #expect(got.fields[.cacheControl] == "max-age=90" && got.report?.forwardStatus == 304)
    world.clock.advance(by: .seconds(89))
    #expect(try await world.get().outcome == .hit)
    #expect(world.transfers == 2)
  }

  @Test("A changed response replaces the stored one")
  func replaced() async throws {
    let world = CacheWorld { (_, number) throws(TransportError) in
      .answer(200, fields: [.cacheControl: "max-age=60", .eTag: "\"\(number)\""], body: "\(number)")
    }
    try await world.get()
    world.clock.advance(by: .seconds(61))
    #expect(try await world.get().body == "1")
    #expect(try await world.get().body == "1")
    #expect((world.cache.store as? MemoryCacheStore)?.count == 1)
  }

  @Test("A 304 that matches no stored response leads to one more request without conditions")
  func strayNotModified() async throws {
    let world = CacheWorld { (request, number) throws(TransportError) in
      if number == 1 { return .answer(304, fields: [.eTag: "\"other\""]) }
      return .answer(200, fields: Self.fresh, body: "\(number)")
    }
    try await world.get()
    world.clock.advance(by: .seconds(61))
    #expect(try await world.get().body == "2")
    #expect(world.origin.requests[2].head.headerFields[.ifNoneMatch] == nil)
  }

  @Test("The cache modes behave as those of Fetch")
  func modes() async throws {
    let world = CacheWorld(Self.fresh)
    #expect(try await world.get { $0.cache = .onlyStored }.status == 504)
    // Requests that a cache cannot answer, or that bypass it, are not sent to the server either.
    let post = try await world.get(method: .post) { $0.cache = .onlyStored }
    #expect(post.status == 504 && post.report?.description == "Lastro")
    #expect(try await world.get(body: .init(source: .bytes(Data("a".utf8)))) { $0.cache = .onlyStored }.status == 504)
    let judged = try await world.get {
      $0.cache = .onlyStored
      $0.connection = .edited { $0.tls.trustJudge = ScriptedJudge(accepts: { _ in true }) }
    }
    #expect(judged.status == 504)
    #expect(world.transfers == 0)
    try await world.get { $0.cache = .noStore }
    #expect(try await world.get { $0.cache = .onlyStored }.status == 504)
    #expect(try await world.get { $0.cache = .reload }.body == "body 1")
    #expect(world.origin.requests[1].head.headerFields[.cacheControl] == "no-cache")
    #expect(try await world.get().body == "body 1")
    world.clock.advance(by: .seconds(1_000))
    #expect(try await world.get { $0.cache = .onlyStored }.outcome == .staleServed)
    #expect(try await world.get { $0.cache = .preferStored }.body == "body 1")
    #expect(try await world.get { $0.cache = .reload }.body == "body 2")
    #expect(try await world.get { $0.cache = .revalidate }.body == "body 3")
    #expect(world.origin.requests[3].head.headerFields[.cacheControl] == "max-age=0")
    #expect(world.transfers == 4)
  }

  @Test("After the clock went back a day stored responses are stale")
  func clockBack() async throws {
    let date = Date(timeIntervalSince1970: 2_000_000_000)
    let now = ManualClock(now: .seconds(86_400))
    let cache = HTTPCache()
    let origin = ScriptedTransport { (_, number) throws(TransportError) in
      .answer(200, fields: Self.fresh, body: "\(number)")
    }
    func stack(at seconds: Double) -> TransportNetworkStack {
      var configuration = StackConfiguration()
      configuration.cache = cache
      configuration.timeSource = TimeSource(
        now: { now.now }, sleep: { try await now.sleep($0) }, sinceEpoch: { .seconds(seconds) })
      return TransportNetworkStack(transport: origin, configuration: configuration)
    }
    let later = date.timeIntervalSince1970
    _ = try await stack(at: later).fetch(.test())
    let earlier = try await stack(at: later - 86_400).fetch(.test())
    #expect(String(decoding: earlier.value, as: UTF8.self) == "1")
  }

  @Test("A redirect is stored and served with its body")
  func redirect() async throws {
    let world = CacheWorld { (request, _) throws(TransportError) in
      #expect(!request.dropsRedirectBodies)
      return request.head.path == "/a"
        ? .answer(301, fields: [.location: "/b", .cacheControl: "max-age=60"], body: "moved")
        : .answer(200, fields: Self.fresh, body: "there")
    }
    #expect(try await world.get().body == "there")
    #expect(try await world.get().body == "there")
    #expect(world.transfers == 2)
    #expect(try await world.get { $0.redirects = RedirectPolicy.none }.body == "moved")
    #expect(world.transfers == 2)
  }

  @Test("Another method's success invalidates the URL for all, and the URLs of the same origin that it names")
  func invalidation() async throws {
    let world = CacheWorld { (request, number) throws(TransportError) in
      request.head.method == .get
        ? .answer(200, fields: Self.fresh, body: "\(number)")
        : .answer(
          request.head.path == "/fails" ? 500 : 201,
          fields: [.location: "/b", .contentLocation: "https://other.example/c"])
    }
    for path in ["a", "b"] { try await world.get("https://example.com/\(path)") { $0.principal = "ann" } }
    try await world.get("https://other.example/c")
    try await world.get("https://example.com/fails")
    let before = world.transfers
    try await world.get(method: .post)
    try await world.get("https://example.com/fails", method: .post)
    for path in ["a", "b"] {
      #expect(try await world.get("https://example.com/\(path)") { $0.principal = "ann" }.outcome == .missed)
    }
    #expect(try await world.get("https://other.example/c").outcome == .hit)
    #expect(try await world.get("https://example.com/fails").outcome == .hit)
    #expect(world.transfers == before + 4)
  }

  @Test("A response requested before a change, and received after it, is not stored")
  func lateAnswer() async throws {
    let gate = Watched(false)
    let world = CacheWorld { (request, number) throws(TransportError) in
      if request.head.method == .get, number == 0 { _ = await gate.wait { $0 } }
      return .answer(200, fields: Self.fresh, body: "\(number)")
    }
    let early = Task { try await world.get() }
    #expect(await eventually { world.transfers == 1 })
    try await world.get(method: .put)
    gate.change { $0 = true }
    #expect(try await early.value.report?.isStored == false)
    #expect(try await world.get().body == "2")
  }

  @Test("HEAD is served from GET, and a forwarded HEAD refreshes or removes the stored response")
  func head() async throws {
    let world = CacheWorld { (request, number) throws(TransportError) in
      request.head.method == .head
        ? .answer(200, fields: [.eTag: number == 1 ? "\"v1\"" : "\"v2\"", .cacheControl: "max-age=60"])
        : .answer(200, fields: Self.fresh, body: "\(number)")
    }
    try await world.get()
    let got = try await world.get(method: .head)
    #expect(got.outcome == .hit && got.body.isEmpty && world.transfers == 1)
    world.clock.advance(by: .seconds(61))
    try await world.get(method: .head) { $0.cache = .revalidate }
    #expect(try await world.get().outcome == .hit)
    try await world.get(method: .head) { $0.cache = .revalidate }
    #expect(try await world.get().outcome == .missed)
  }

  @Test("Ranges are served from a complete response, but not from one that was decoded")
  func ranges() async throws {
    let world = CacheWorld { (request, number) throws(TransportError) in
      var fields = Self.fresh
      if request.head.path == "/gzip" { fields[.contentEncoding] = "gzip" }
      return .answer(request.head.headerFields[.range] == nil ? 200 : 206, fields: fields, body: "0123456789")
    }
    try await world.get()
    let part = try await world.get(fields: [.range: "bytes=2-4"])
    #expect(part.status == 206 && part.body == "234" && part.fields[.contentRange] == "bytes 2-4/10")
    #expect(part.fields[.contentLength] == "3")
    let beyond = try await world.get(fields: [.range: "bytes=20-"])
    #expect(beyond.status == 416 && beyond.fields[.contentRange] == "bytes */10")
    #expect(world.transfers == 1)
    try await world.get("https://example.com/gzip")
    let forwarded = try await world.get("https://example.com/gzip", fields: [.range: "bytes=2-4"])
    #expect(forwarded.report?.forwardReason == .partial && world.transfers == 3)
    // The 206 did not replace the complete response.
    #expect(try await world.get("https://example.com/gzip").status == 200)
    #expect(world.transfers == 3)
  }

  @Test("Vary selects the response, and a field that the engine adds itself is ignored")
  func vary() async throws {
    let world = CacheWorld([.cacheControl: "max-age=60", .vary: "Accept-Encoding, X"])
    try await world.get()
    #expect(try await world.get().outcome == .hit)
    let other = try await world.get(fields: [HTTPField.Name.of("X"): "1"])
    #expect(other.report?.forwardReason == .varyMiss)
    #expect(try await world.get().body == "body 0")
    #expect(try await world.get(fields: [HTTPField.Name.of("X"): "1"]).body == "body 1")
  }

  @Test("Stale-if-error serves a stale response after a 5xx or no response, unless the server forbids it")
  func staleIfError() async throws {
    for forbids in [false, true] {
      let control = "max-age=1, stale-if-error=100" + (forbids ? ", must-revalidate" : "")
      let world = CacheWorld { (_, number) throws(TransportError) in
        switch number {
        case 0: return .answer(200, fields: [.cacheControl: control], body: "old")
        case 1: return .answer(503, body: "down")
        case 2: throw TransportError(stage: .connect, code: .connectFailed, message: "down")
        default: throw TransportError(stage: .tls, code: .untrustedCertificate, message: "not trusted")
        }
      }
      try await world.get()
      world.clock.advance(by: .seconds(50))
      #expect(try await world.get().status == (forbids ? 503 : 200))
      if forbids {
        await #expect(throws: (any Error).self) { try await world.get() }
      } else {
        #expect(try await world.get().outcome == .staleServed)
      }
      // An untrusted server does not count as unreachable, so no stale response is used.
      await #expect(throws: (any Error).self) { try await world.get() }
    }
  }

  @Test("A body longer than the request allows fails from the cache as from the network")
  func limit() async throws {
    let world = CacheWorld(Self.fresh)
    try await world.get()
    await #expect(throws: (any Error).self) { try await world.get { $0.maximumBodyBytes = 3 } }
    #expect(world.transfers == 1)
  }

  @Test("A streamed body is stored if it was read to its end, and otherwise not")
  func streams() async throws {
    let world = CacheWorld { (request, number) throws(TransportError) in
      let source = ChunkSource(
        [Data("ab".utf8), Data("cd".utf8)], failure: request.head.path == "/cut" ? .cutForTest : nil)
      return TransferResponse(
        head: HTTPResponse(status: .ok, headerFields: Self.fresh), body: ResponseBody(source: source))
    }
    let whole = try await world.stack.stream(RawHTTPResource.test()).value
    #expect(try await world.get().outcome == .missed)
    #expect(String(decoding: try await whole.collect(upTo: 10), as: UTF8.self) == "abcd")
    let got = try await world.get()
    #expect(got.body == "abcd" && got.outcome == .hit)
    for path in ["cut", "left"] {
      let url = "https://example.com/\(path)"
      do {
        let body = try await world.stack.stream(RawHTTPResource.test(url: url)).value
        if path == "cut" { _ = try? await body.collect(upTo: 10) } else { body.cancel() }
      }
      #expect(try await world.get(url) { $0.cache = .onlyStored }.status == 504)
    }
  }

  @Test("A response longer than the limit is passed on and not stored")
  func entryLimit() async throws {
    let world = CacheWorld(policy: HTTPCachePolicy(maximumEntryBytes: 5), Self.fresh)
    #expect(try await world.get().body == "body 0")
    #expect(try await world.get().body == "body 1")
    let small = CacheWorld(store: MemoryCacheStore(maximumEntryBytes: 5), Self.fresh)
    #expect(try await small.get().report?.isStored == false)
    #expect(try await small.get().body == "body 1")
  }

  @Test("An error body that was cut is not stored")
  func cutBody() async throws {
    let world = CacheWorld { (_, number) throws(TransportError) in
      var answer = TransferResponse.answer(404, fields: Self.fresh, body: "cut")
      answer.facts.bodyCut = .limit(3)
      return answer
    }
    try await world.get()
    try await world.get()
    #expect(world.transfers == 2)
  }

  @Test("Cache-Status is appended to existing values on request, and the report keeps its own description")
  func cacheStatus() async throws {
    let name = HTTPField.Name.of("Cache-Status")
    let fields: HTTPFields = [.cacheControl: "max-age=60", name: "Edge; hit"]
    let world = CacheWorld(policy: HTTPCachePolicy(addsCacheStatus: true), fields)
    #expect(
      try await world.get().fields[values: name] == ["Edge; hit", "Lastro; fwd=uri-miss; fwd-status=200; stored"])
    let got = try await world.get()
    #expect(got.fields[values: name] == ["Edge; hit", "Lastro; hit; ttl=60"])
    #expect(got.report?.description == "Lastro; hit; ttl=60; age=0")
    #expect(try await CacheWorld(fields).get().fields[values: name] == ["Edge; hit"])
  }

  @Test("Explain shows the mode and contacts neither the server nor the store")
  func explains() async throws {
    let world = CacheWorld(Self.fresh)
    var options = RequestOptions()
    options.cache = .revalidate
    options.principal = "ann"
    let explanation = await world.stack.explain(try RawHTTPResource.test(options: options))
    #expect(explanation.contains("revalidate; for its principal"))
    #expect(!explanation.contains("ann"))
    #expect(world.transfers == 0)
  }

  @Test("Remove deletes a URL, and removeAll everything")
  func remove() async throws {
    let world = CacheWorld(Self.fresh)
    try await world.get()
    try await world.get("https://example.com/b")
    try await world.cache.remove("https://EXAMPLE.com:443/a#part")
    #expect(try await world.get { $0.cache = .onlyStored }.status == 504)
    #expect(try await world.get("https://example.com/b").outcome == .hit)
    await world.cache.removeAll()
    #expect(try await world.get("https://example.com/b").outcome == .missed)
    await #expect(throws: TransportError.self) { try await world.cache.remove("ftp://example.com/") }
  }
}

extension TransportError {
  static let cutForTest = TransportError(stage: .response, code: .truncatedBody, message: "cut", requestSent: true)
}

/// A stack with a cache over an origin in memory, on a clock of its own.
struct CacheWorld {
  typealias Answer = @Sendable (TransferRequest, Int) async throws(TransportError) -> TransferResponse

  let clock = ManualClock()
  let cache: HTTPCache
  let origin: ScriptedTransport
  let stack: TransportNetworkStack

  init(
    store: any HTTPCacheStore = MemoryCacheStore(), policy: HTTPCachePolicy = HTTPCachePolicy(),
    configuration: StackConfiguration = StackConfiguration(), _ answer: @escaping Answer
  ) {
    cache = HTTPCache(store: store, policy: policy)
    origin = ScriptedTransport(time: clock.timeSource, answering: answer)
    var configuration = configuration
    configuration.timeSource = clock.timeSource
    configuration.cache = cache
    stack = TransportNetworkStack(transport: origin, configuration: configuration)
  }

  /// Creates a world whose origin responds with the same fields each time, and with the request's number in the body.
  init(
    store: any HTTPCacheStore = MemoryCacheStore(), policy: HTTPCachePolicy = HTTPCachePolicy(), _ fields: HTTPFields
  ) {
    self.init(store: store, policy: policy) { (_, number) throws(TransportError) in
      .answer(200, fields: fields, body: "body \(number)")
    }
  }

  struct Got: Equatable {
    var status: Int
    var body: String
    var outcome: CacheOutcome?
    var report: CacheReport?
    var fields: HTTPFields

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.status == rhs.status && lhs.body == rhs.body }
  }

  /// Fetches a URL, and accepts every status.
  @discardableResult
  func get(
    _ url: String = "https://example.com/a", method: HTTPRequest.Method = .get, fields: HTTPFields = [:],
    body: RequestBody = .empty, _ edit: (inout RequestOptions) -> Void = { _ in }
  ) async throws -> Got {
    var options = RequestOptions()
    edit(&options)
    let resource = try RawHTTPResource.test(method, url: url, fields: fields, body: body, options: options)
    return try await result(of: resource)
  }

  private func result(of resource: RawHTTPResource) async throws -> Got {
    do throws(HTTPFetchError<any Error>) {
      let value = try await stack.fetch(resource)
      return Got(value.value, value.response)
    } catch {
      guard let response = error.response, error.transportError == nil else { throw error }
      return Got(error.body ?? Data(), response)
    }
  }

  var transfers: Int { origin.requests.count }
}

extension CacheWorld.Got {
  init(_ body: Data, _ response: ResourceResponse) {
    self.init(
      status: response.status.code, body: String(decoding: body, as: UTF8.self), outcome: response.facts.cache,
      report: response.facts.cacheReport, fields: response.headerFields)
  }
}

extension HTTPField.Name {
  /// Returns the field name of a text that is known to be valid.
  static func of(_ name: String) -> HTTPField.Name { HTTPField.Name(name) ?? .accept }
}
