// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
public import Lastro
internal import LastroSupport

#if !Integrations
  #error("LastroObservability wants the trait Integrations: name it in `traits` of the dependency on Lastro")
#endif

/// Records metrics of calls under OpenTelemetry's names for HTTP clients, through swift-metrics.
///
/// | metric | kind | value |
/// |---|---|---|
/// | `http.client.request.duration` | recorder, seconds | the duration of each request, redirect and retry |
/// | `http.client.active_requests` | meter | the number of requests on the wire |
/// | `http.client.request.body.size` | recorder, bytes | opt-in: each request's body, if its length is known |
/// | `http.client.response.body.size` | recorder, bytes | opt-in: each response's body, before decompression |
/// | `http.client.open_connections` | meter | the number of open connections, each `active` or `idle` |
/// | `http.client.connection.duration` | recorder, seconds | the lifetime of each closed connection |
/// | `lastro.client.connections` | counter | the number of opened connections |
/// | `lastro.client.connection.reuse` | gauge, 0 to 1 | the share of possible connection reuses that occurred |
/// | `lastro.client.call.duration` | recorder, seconds | the duration of each call; for a stream, until it was open |
/// | `lastro.client.attempts` | recorder | the number of attempts of each call |
/// | `lastro.client.queue.duration` | recorder, seconds | each wait in the queue in front of the engine |
/// | `lastro.client.cache.lookups` | counter | the number of cache look-ups, by outcome |
/// | `lastro.client.refusals` | counter | the number of locally refused requests, such as by an open circuit |
/// | `lastro.client.wait.duration` | recorder, seconds | each wait for a pace or in a limiter's queue |
/// | `lastro.client.circuit.changes` | counter | the number of circuit changes, by new state |
/// | `lastro.client.hedges` | counter | the number of hedges, by outcome |
/// | `lastro.client.limiter.limit` | gauge | the limit of a limiter, updated when a request ends |
/// | `lastro.client.limiter.in_use` | gauge | the number of other requests in flight at that time |
///
/// The first four have the attributes `http.request.method` (`_OTHER` for non-standard methods), `server.address`,
/// `server.port`, `url.scheme` and, if the request has them, `url.template` (`RequestOptions.urlTemplate`) and
/// `lastro.operation` (`RequestOptions.operation`). After the end of a request they also have
/// `http.response.status_code`, `network.protocol.version`, and `error.type` (the status from 400 on, or stage and code
/// such as `timeout/total_timeout`; none for a cancellation by the caller). A request that was answered from a cache,
/// or refused locally, counts as active while it is in progress, but is not measured. The duration of a streamed
/// response ends with its body.
///
/// The four metrics of connections are recorded if the engine reports its connections, through `CurlConfiguration`:
/// `engine.connectionObserver = { metrics.observe($0) }`. They have `server.address`, `server.port` and `url.scheme`;
/// open connections also have `http.connection.state`. The gauge has no attributes. Over the observer's lifetime it is
/// `1 − (opened − origins) / (requests − origins)`, because the first connection to each origin cannot be avoided. The
/// gauge is updated when requests end. Origins beyond the first 16,384 are not counted.
///
/// The two metrics of calls, which no convention defines, have `http.request.method`, `server.address`, `server.port`,
/// `url.scheme`, `lastro.operation` and `error.type`. The first four are missing if not even a base request could be
/// made.
///
/// The last seven are recorded if a layer around the transport notes its actions (`TransferFacts.notes`):
/// `LastroEveryday`, `LastroResilience`. They have the attributes of requests that have not ended. Refusals also have
/// `error.type` (such as `policy/circuit_open`), waits `lastro.wait` (`paced`, `queued`), changes
/// `lastro.circuit.state` (`open`, `half-open`, `closed`), hedges `lastro.hedge.outcome` (`won`, `lost`, `useless`),
/// and look-ups `lastro.cache.outcome`. Limiters, which requests share, have only `server.address`, `server.port` and
/// `url.scheme`, and `lastro.limiter.part` if their keys have parts.
///
/// swift-metrics does not support the histogram boundaries that the conventions recommend; the guide *Observing* lists
/// them.
///
/// No attribute contains a URL. Hosts and operations may still be numerous: beyond `maximumAttributeSets` distinct sets
/// of a metric, values go to a single set, `otel.metric.overflow` = `true`.
///
/// Register it once, in `StackConfiguration.observers`.
public final class MetricsObserver: FetchObserver {
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

  /// Creates an observer.
  ///
  /// - Parameters:
  ///   - factory: creates the metrics. Default: the factory that is bootstrapped at the time of the call,
  ///     `MetricsSystem.factory`.
  ///   - maximumAttributeSets: the maximum number of attribute sets per metric. Default 2000, OpenTelemetry's limit;
  ///     values below 1 count as 1.
  ///   - recordsBodySizes: whether the sizes of bodies are recorded. Default false, because the conventions make them
  ///     opt-in.
  ///   - includesScheme: whether `url.scheme` is an attribute. Default true; the conventions make it optional.
  ///   - knownMethods: the methods that are not reported as `_OTHER`. Default: those listed in the environment variable
  ///     `OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS`, else those of RFC 9110 and RFC 5789, and QUERY.
  public init(
    factory: any MetricsFactory = MetricsSystem.factory, maximumAttributeSets: Int = 2000,
    recordsBodySizes: Bool = false, includesScheme: Bool = true, knownMethods: Set<String>? = nil
  ) {
    self.recordsBodySizes = recordsBodySizes
    self.includesScheme = includesScheme
    self.knownMethods = knownMethods.map { KnownMethods($0) } ?? .environment
    instruments = MetricInstruments(factory: factory, limit: max(1, maximumAttributeSets))
  }

  /// Records an event. It takes a lock, and calls the metrics' backend outside of it.
  public func observe(_ event: FetchEvent) {
    switch event.kind {
    case .callStarted: calls.withLock { $0[event.callID] = Call(start: event.time) }
    case .transferStarted(let request): begin(request, event)
    case .transferEnded(let result):
      recordNotes(of: result, event)
      end(result, event)
    case .attemptEnded(let attempt):
      if attempt.outcome != .succeeded { finish(event) }
    case .callEnded(let result): end(result, event)
    case .bodyEnded(let end):
      finish(event, end)
      calls.withLock { $0[event.callID] = nil }
    default: break
    }
  }

  private func begin(_ request: ResourceRequest, _ event: FetchEvent) {
    finish(event)
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

  private func end(_ result: Result<FetchEvent.Answer, TransportError>, _ event: FetchEvent) {
    if event.isStream, case .success(let answer) = result, answer.body == nil {
      return calls.withLock { $0[event.callID]?.running?.answer = answer }
    }
    guard let running = take(event.callID) else { return }
    record(Ended(running: running, time: event.time, result: result))
  }

  /// Ends a request whose response was streamed, with the end of its body if that was reported.
  private func finish(_ event: FetchEvent, _ end: FetchEvent.BodyEnd? = nil) {
    guard let running = take(event.callID) else { return }
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

  private func take(_ callID: UInt64) -> Running? { calls.withLock { $0[callID]?.running.take() } }

  private func record(_ ended: Ended) {
    var attributes = metric(ended.running.request)
    instruments.add(-1, Self.activeRequests, attributes)
    guard ended.result.wasSent else { return }
    recordReuse { $0.noteRequest() }
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

  private func end(_ result: Result<ResourceResponse, HTTPFetchError<any Error>>, _ event: FetchEvent) {
    var isOpen = false
    var errorType: String?
    var ledger: AttemptLedger?
    var count: Int
    switch result {
    case .success(let response):
      isOpen = event.isStream
      count = response.attempts.count
    case .failure(let error):
      finish(event)
      errorType = HTTPAttributes.errorType(of: error)
      count = error.attempts.count
      ledger = error.ledger
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
  public func observe(_ change: ConnectionChange) {
    var attributes = MetricAttributes(
      address: change.origin.host.unbracketedHost, port: change.origin.port,
      scheme: includesScheme ? change.origin.scheme : nil)
    if change.from == nil, change.to != nil {
      instruments.count("lastro.client.connections", attributes)
      reuse.withLock { $0.noteOpened(to: change.origin) }
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
