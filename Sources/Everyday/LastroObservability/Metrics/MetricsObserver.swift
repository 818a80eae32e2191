// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import HTTPTypes
import Lastro
import LastroSupport

#if !Integrations
  #error("LastroObservability wants the trait Integrations: name it in `traits` of the dependency on Lastro")
#endif

/// Records the metrics of calls that `metrics` of `FetchObserver` lists.
final class MetricsObserver: FetchObserver {
  /// A request on the wire.
  private struct Running {
    var request: HTTPAttributes
    var start: Duration
    var bodyLength: Int64?
    /// The response, whose body is still being read.
    var answer: FetchEvent.Answer?
  }

  private struct Call {
    var start: Duration
    var request: HTTPAttributes?
    var running: Running?
  }

  /// The record of a request that has ended.
  private struct Ended {
    var running: Running
    var time: Duration
    var result: Result<FetchEvent.Answer, TransportError>
    var end: FetchEvent.BodyEnd?
  }

  private static let activeRequests = "http.client.active_requests"

  private let instruments: MetricInstruments
  private let recordsBodySizes: Bool
  private let includesScheme: Bool
  private let knownMethods: KnownMethods
  private let calls = Lock<[UInt64: Call]>([:])
  private let reuse = Lock(ReuseCount())

  init(
    factory: any MetricsFactory = MetricsSystem.factory, maximumAttributeSets: Int = 2000,
    recordsBodySizes: Bool = false, includesScheme: Bool = true, knownMethods: Set<String>? = nil
  ) {
    self.recordsBodySizes = recordsBodySizes
    self.includesScheme = includesScheme
    self.knownMethods = knownMethods.map { KnownMethods($0) } ?? .environment
    instruments = MetricInstruments(factory: factory, limit: max(1, maximumAttributeSets))
  }

  /// Records an event. It takes a lock, and calls the metrics' backend outside of it.
  func observe(_ event: FetchEvent) {
    switch event.kind {
    case .callStarted: calls.withLock { $0[event.callID] = Call(start: event.time) }
    case .transferStarted(let request): startRequest(request, event)
    case .transferEnded(let result):
      recordNotes(of: result, event)
      endTransfer(result, event)
    case .attemptEnded(let attempt):
      if attempt.outcome != .succeeded { endOpenRequest(event) }
    case .callEnded(let result): endCall(result, event)
    case .bodyEnded(let bytes, let error, let facts):
      endOpenRequest(event, FetchEvent.BodyEnd(bytes: bytes, error: error, facts: facts))
      calls.withLock { $0[event.callID] = nil }
    default: break
    }
  }

  private func startRequest(_ request: ResourceRequest, _ event: FetchEvent) {
    endOpenRequest(event)
    let attributes = HTTPAttributes(request, operation: event.operation, known: knownMethods)
    let running = Running(
      request: attributes, start: event.time, bodyLength: request.body.isEmpty ? nil : request.body.length)
    calls.withLock { calls in
      if calls[event.callID]?.request == nil { calls[event.callID]?.request = attributes }
      calls[event.callID]?.running = running
    }
    instruments.add(1, Self.activeRequests, metric(attributes))
  }

  private func recordNotes(of result: Result<FetchEvent.Answer, TransportError>, _ event: FetchEvent) {
    let notes = result.notes
    let refusal = result.refusal
    guard !notes.isEmpty || refusal != nil else { return }
    guard let request = calls.withLock({ $0[event.callID]?.running?.request }).map(metric) else { return }
    for note in notes { instruments.record(note, request) }
    if let refusal { instruments.record(refusal: refusal, request) }
  }

  private func endTransfer(_ result: Result<FetchEvent.Answer, TransportError>, _ event: FetchEvent) {
    if event.isStream, case .success(let answer) = result, answer.body == nil {
      return calls.withLock { $0[event.callID]?.running?.answer = answer }
    }
    guard let running = removeRunning(event.callID) else { return }
    record(Ended(running: running, time: event.time, result: result))
  }

  /// Ends a request whose response was streamed, with the end of its body if that was reported.
  private func endOpenRequest(_ event: FetchEvent, _ end: FetchEvent.BodyEnd? = nil) {
    guard let running = removeRunning(event.callID) else { return }
    let result: Result<FetchEvent.Answer, TransportError> =
      if let error = end?.error {
        .failure(error)
      } else if let answer = running.answer {
        .success(answer)
      } else {
        .failure(.cancelled(requestSent: true))
      }
    record(Ended(running: running, time: event.time, result: result, end: end))
  }

  private func removeRunning(_ callID: UInt64) -> Running? { calls.withLock { $0[callID]?.running.take() } }

  private func record(_ ended: Ended) {
    var attributes = metric(ended.running.request)
    instruments.add(-1, Self.activeRequests, attributes)
    guard ended.result.wasSent else { return }
    recordReuse { $0.countSentRequest() }
    var answer = ended.running.answer
    var facts = ended.end?.facts
    switch ended.result {
    case .success(let got):
      answer = got
      attributes.errorType = HTTPAttributes.errorType(of: got.response.status)
    case .failure(let error):
      attributes.errorType = HTTPAttributes.errorType(of: error)
      attributes.status = error.head?.status.code
      facts = facts ?? error.facts
    }
    if let answer {
      attributes.status = answer.response.status.code
      facts = facts ?? answer.response.facts
    }
    attributes.version = facts?.httpVersion
    if let queued = facts?.timings.queued, queued > .zero {
      instruments.record(queued.inSeconds, "lastro.client.queue.duration", metric(ended.running.request))
    }
    instruments.record((ended.time - ended.running.start).inSeconds, "http.client.request.duration", attributes)
    guard recordsBodySizes else { return }
    if let length = ended.running.bodyLength {
      instruments.record(Double(length), "http.client.request.body.size", attributes)
    }
    guard let answer else { return }
    let received = facts.map(\.bytesReceived) ?? 0
    let size = received > 0 ? received : ended.end?.bytes ?? Int64(answer.body?.count ?? 0)
    instruments.record(Double(size), "http.client.response.body.size", attributes)
  }

  private func endCall(_ result: Result<ResourceResponse, HTTPFetchError<any Error>>, _ event: FetchEvent) {
    var isOpen = false
    var errorType: String?
    var ledger: AttemptLedger?
    var count: Int
    let announced: Bool
    switch result {
    case .success(let response):
      isOpen = event.isStream
      count = response.attempts.count
      announced = response.announcesEnd
    case .failure(let error):
      endOpenRequest(event)
      errorType = HTTPAttributes.errorType(of: error)
      count = error.attempts.count
      ledger = error.ledger
      announced = error.response?.announcesEnd == true
    }
    let call = calls.withLock { isOpen ? $0[event.callID] : $0.removeValue(forKey: event.callID) }
    guard let call else { return }
    let request = call.request ?? ledger.flatMap { HTTPAttributes($0, known: knownMethods) }
    var attributes = request.map(metric) ?? MetricAttributes()
    attributes.template = nil
    attributes.operation = event.operation
    attributes.errorType = errorType
    instruments.record((event.time - call.start).inSeconds, "lastro.client.call.duration", attributes)
    instruments.record(Double(count), "lastro.client.attempts", attributes)
    if announced { instruments.count("lastro.client.deprecated", attributes) }
  }

  private func metric(_ request: HTTPAttributes) -> MetricAttributes {
    MetricAttributes(
      method: request.method, address: request.address, port: request.port,
      scheme: includesScheme ? request.scheme : nil, template: request.template, operation: request.operation)
  }
}

extension MetricsObserver {
  private func recordReuse(_ note: (inout ReuseCount) -> Void) {
    let ratio = reuse.withLock { reuse in
      note(&reuse)
      return reuse.ratio
    }
    if let ratio { instruments.set(ratio, "lastro.client.connection.reuse", MetricAttributes()) }
  }

  /// Records a change of a connection, for `CurlConfiguration.connectionObserver`. It takes a lock, and calls the
  /// metrics' backend outside of it.
  func observe(_ change: ConnectionChange) {
    var attributes = MetricAttributes(
      address: change.origin.host.unbracketedHost, port: change.origin.port,
      scheme: includesScheme ? change.origin.scheme : nil)
    if change.from == nil, change.to != nil {
      instruments.count("lastro.client.connections", attributes)
      reuse.withLock { $0.countConnection(to: change.origin) }
    }
    if let validity = change.clientCertificateValidity, change.to != nil {
      instruments.set(validity.inSeconds, "lastro.client.certificate.validity", attributes)
    }
    if change.to == nil {
      instruments.record(change.age.inSeconds, "http.client.connection.duration", attributes)
    }
    for (state, amount) in [(change.from, -1), (change.to, 1)] {
      guard let state else { continue }
      attributes.own = .init(name: "http.connection.state", value: state.rawValue)
      instruments.add(amount, "http.client.open_connections", attributes)
    }
  }
}

private let endingFields = ["Deprecation", "Sunset"].compactMap { HTTPField.Name($0) }

extension ResourceResponse {
  /// Whether the response has the field of a deprecation (RFC 9745) or an end (RFC 8594), whatever its value.
  fileprivate var announcesEnd: Bool {
    endingFields.contains { headerFields[$0] != nil }
  }
}
