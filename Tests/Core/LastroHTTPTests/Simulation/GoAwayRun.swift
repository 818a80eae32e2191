// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@testable import LastroHTTP

/// Concurrent uploads over HTTP/2 to a server that sends GOAWAY after a number of their frames.
///
/// The application of the server begins an upload when it is complete. Uploads with even numbers are POSTs, which the
/// client may not repeat. The others are PUTs, which it may repeat.
final class GoAwayRun {
  /// The last stream that GOAWAY names. None that the application has begun is excluded.
  enum LastStream: CaseIterable, Sendable {
    /// The latest stream that the application has begun.
    case processed
    /// The stream below that of the latest frame.
    case below
    /// The stream of the latest frame.
    case current
    /// The latest stream that the server knows.
    case latest
    /// The highest possible stream, followed at once by the latest known stream: a graceful shutdown.
    case highest
    /// The stream of the latest frame. The connection then ends without a response to the streams that were not
    /// excluded.
    case cut
  }

  struct Plan: Sendable {
    var uploads: Int
    /// The number of frames after which GOAWAY is sent.
    var point: Int
    var lastStream: LastStream
    /// The maximum number of bytes that the client may have in flight.
    var capacity = Int.max
    /// Whether the connection has served a request, so that the client knows the server's limits.
    var isWarm = true
    /// Whether every connection ends this way, and not only the first.
    var repeats = false
  }

  private struct Upload {
    var call: VirtualCall
    var path: String
    var isRepeatable: Bool
    /// The number of streams whose head the server has received.
    var heads = 0
    var processed = 0
  }

  /// The number of body bytes in a frame if the client knows the server's limits.
  private static let window = 8
  private static let body = "an upload of 3 frames..."
  /// The number of frames of an upload, including its head.
  static let frames = 1 + body.utf8.count / window

  private let plan: Plan
  private let engine = VirtualEngine()
  private var uploads: [Upload] = []
  /// The numbers of the uploads that the first server knew at GOAWAY: the accepted ones and the excluded ones.
  private var kept: Set<Int> = []
  private var excluded: Set<Int> = []
  private var hasBegun = false
  private(set) var sentGoAways = 0
  private(set) var failures = 0
  private(set) var resends = 0
  private(set) var faults: [String] = []

  init(_ plan: Plan) {
    self.plan = plan
    let network = engine.network
    network.applicationProtocol = { $0.request.tls?.applicationProtocols.first }
    network.dialing = { [unowned self] _ in .open { [unowned self] in serve($0, connection: network.links.count) } }
  }

  // MARK: The server

  private func serve(_ link: MemoryLink, connection: Int) {
    link.far.capacity = plan.capacity
    let server = MemoryHTTP2Server(link.far, window: UInt32(Self.window)) { [unowned self] server, request in
      process(request, on: server)
    }
    server.onHead = { [unowned self] _, request in
      if let number = number(of: request) { uploads[number].heads += 1 }
    }
    guard connection == 1 || plan.repeats else { return }
    var frames = 0
    server.onFrame = { [unowned self] server, frame in
      guard hasBegun else { return }
      frames += 1
      if frames == plan.point { goAway(server, at: frame.stream) }
    }
  }

  /// Returns the number of an upload; `nil` for the request that warms the connection.
  private func number(of request: MemoryRequest) -> Int? { Int(request.target.dropFirst()) }

  private func process(_ request: MemoryRequest, on server: MemoryHTTP2Server) {
    if let number = number(of: request) {
      uploads[number].processed += 1
      expect(request.body.elementsEqual(Self.body.utf8), "the body of \(request.target) is not whole")
    }
    server.respond(request.target, to: request)
  }

  private func goAway(_ server: MemoryHTTP2Server, at stream: UInt32) {
    sentGoAways += 1
    let processed = server.requests.map(\.stream).max() ?? 0
    let last: UInt32 =
      switch plan.lastStream {
      case .processed: processed
      case .below: max(processed, stream == 1 ? 0 : stream - 2)
      case .current, .cut: max(processed, stream)
      case .latest: server.latestStream
      case .highest: .max >> 1
      }
    for request in server.open.values {
      guard let number = number(of: request) else { continue }
      if request.stream <= last { kept.insert(number) } else { excluded.insert(number) }
    }
    if plan.lastStream == .cut { kept.formUnion(uploads.indices.filter { uploads[$0].processed > 0 }) }
    server.goAway(lastStream: last)
    switch plan.lastStream {
    case .highest: server.far.act(after: .zero) { server.goAway(lastStream: server.latestStream) }
    case .cut: if plan.point.isMultiple(of: 2) { server.far.end() } else { server.far.reset() }
    default: break
    }
  }

  // MARK: The run

  func run() {
    defer { engine.shutDown() }
    if plan.isWarm { expect(engine.start(.to("/warm", scheme: "https")).text == "/warm", "no connection is warm") }
    hasBegun = true
    for number in 0..<plan.uploads {
      let isRepeatable = !number.isMultiple(of: 2), path = "/\(number)"
      let request = TransferRequest.to(
        path, isRepeatable ? .put : .post, scheme: "https", body: RequestBody(source: .bytes(Data(Self.body.utf8)))
      ) { $0.allowsResend = isRepeatable }
      uploads.append(Upload(call: engine.prepare(request), path: path, isRepeatable: isRepeatable))
    }
    for upload in uploads { engine.begin(upload.call) }
    engine.settle()
    expect(sentGoAways >= 1, "GOAWAY was not sent")
    for number in uploads.indices { check(number) }
    expect(engine.activeJobs == 0 && !engine.holdings.hasExchanges, "the engine holds a request that has ended")
    let links = engine.network.links
    expect(links.first?.isClosed == true, "the connection that received GOAWAY stays open")
    expect(plan.repeats || links.count <= 2, "\(links.count) connections were opened")
    engine.advance(by: .seconds(61))
    expect(engine.holdings == .atRest(connections: 0), "the engine holds \(engine.holdings)")
  }

  private func expect(_ condition: Bool, _ fault: @autoclosure () -> String) {
    if !condition { faults.append("\(plan): \(fault())") }
  }

  private func check(_ number: Int) {
    let upload = uploads[number], most = upload.isRepeatable && plan.lastStream == .cut ? 2 : 1
    expect(upload.processed <= most, "\(upload.path) was processed \(upload.processed) times")
    switch upload.call.outcome {
    case nil: faults.append("\(plan): \(upload.path) has not ended")
    case .success(let response):
      resends += response.facts.resends
      expect(response.head.status.code == 200 && upload.call.text == upload.path, "\(upload.path) got another response")
      expect(upload.processed >= 1, "\(upload.path) was answered, and never processed")
      if !plan.repeats { checkStreams(upload, number, resends: response.facts.resends) }
    case .failure(let error):
      failures += 1
      check(error, of: upload, number)
    }
  }

  /// Checks that an upload was sent again if it was excluded, and only then.
  private func checkStreams(_ upload: Upload, _ number: Int, resends: Int) {
    if plan.lastStream == .cut, !excluded.contains(number) {
      // The response to an accepted upload may have been lost.
      let most = kept.contains(number) && !upload.isRepeatable ? 0 : 1
      expect(resends <= most, "\(upload.path) was sent again \(resends) times")
      return expect(upload.heads <= 1 + resends, "\(upload.path) has had \(upload.heads) streams")
    }
    let isExcluded = excluded.contains(number)
    expect(upload.heads == (isExcluded ? 2 : 1), "\(upload.path) has had \(upload.heads) streams")
    if isExcluded || kept.contains(number) {
      expect(resends == (isExcluded ? 1 : 0), "\(upload.path) was sent again \(resends) times")
    }
  }

  private func check(_ error: TransportError, of upload: Upload, _ number: Int) {
    let words = "\(upload.path) failed: \(error.words), sent: \(error.requestSent)"
    if plan.repeats {
      // The upload was excluded each time.
      expect(error.code == .http2Failure && !error.requestSent && upload.processed == 0, words)
    } else {
      expect(plan.lastStream == .cut && error.code == .connectionLost && error.requestSent, words)
      // A reset discards the GOAWAY that excludes streams.
      expect(!upload.isRepeatable && (kept.contains(number) || !plan.point.isMultiple(of: 2)), words)
    }
  }
}
