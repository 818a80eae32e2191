// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
public import HTTPTypes
public import Lastro
public import Logging
public import Tracing

/// An observer that reports calls to a backend: metrics, spans or log lines.
///
/// ```swift
/// configuration.observers = [.metrics(), .tracing(), .logging(to: Logger(label: "github"))]
/// ```
///
/// An observer may be used by several stacks.
public struct TelemetryObserver: FetchObserver {
  private let observer: any FetchObserver

  fileprivate init(_ observer: any FetchObserver) { self.observer = observer }

  /// Reports an event. It takes a lock, and calls the backend outside of it.
  public func observe(_ event: FetchEvent) { observer.observe(event) }

  /// Records a change of a connection, for `CurlConfiguration.connectionObserver`. It takes a lock, and calls the
  /// metrics' backend outside of it. Only an observer for metrics records connections.
  public func observe(_ change: ConnectionChange) { (observer as? MetricsObserver)?.observe(change) }

  /// Returns the fields that the tracer injects for the span of the outgoing request. There are none for an origin to
  /// which the trace is not propagated, nor from an observer for metrics or logs. Names that are not valid for header
  /// fields are omitted.
  public func propagationFields(callID: UInt64, attempt: Int) -> HTTPFields {
    observer.propagationFields(callID: callID, attempt: attempt)
  }
}

extension FetchObserver where Self == TelemetryObserver {
  /// Returns an observer that records metrics of calls under OpenTelemetry's names for HTTP clients, through
  /// swift-metrics.
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
  /// | `lastro.client.certificate.validity` | gauge, seconds | the time until a client certificate expires |
  /// | `lastro.client.connection.reuse` | gauge, 0 to 1 | the share of possible connection reuses that occurred |
  /// | `lastro.client.call.duration` | recorder, seconds | the duration of each call; for a stream, until it was open |
  /// | `lastro.client.attempts` | recorder | the number of attempts of each call |
  /// | `lastro.client.queue.duration` | recorder, seconds | each wait in the queue in front of the engine |
  /// | `lastro.client.cache.lookups` | counter | the number of cache look-ups, by outcome |
  /// | `lastro.client.refusals` | counter | the number of locally refused requests, such as by an open circuit |
  /// | `lastro.client.wait.duration` | recorder, seconds | each wait for a pace, a quota, a limiter's queue or an equal request |
  /// | `lastro.client.circuit.changes` | counter | the number of circuit changes, by new state |
  /// | `lastro.client.hedges` | counter | the number of hedges, by outcome |
  /// | `lastro.client.fleet.changes` | counter | the number of times that a store was lost, or came back |
  /// | `lastro.client.limiter.limit` | gauge | the limit of a limiter, updated when a request ends |
  /// | `lastro.client.limiter.in_use` | gauge | the number of other requests in flight at that time |
  ///
  /// The first four have the attributes `http.request.method` (`_OTHER` for non-standard methods), `server.address`,
  /// `server.port`, `url.scheme` and, if the request has them, `url.template` (`RequestOptions.urlTemplate`) and
  /// `lastro.operation` (`RequestOptions.operation`). After the end of a request they also have
  /// `http.response.status_code`, `network.protocol.version`, and `error.type` (the status from 400 on, or stage and
  /// code such as `timeout/total_timeout`; none for a cancellation by the caller). A request that was answered from a
  /// cache, or refused locally, counts as active while it is in progress, but is not measured. The duration of a
  /// streamed response ends with its body.
  ///
  /// The five metrics of connections are recorded if the engine reports its connections, through `CurlConfiguration`:
  /// `engine.connectionObserver = { metrics.observe($0) }`. They have `server.address`, `server.port` and `url.scheme`;
  /// open connections also have `http.connection.state`. The validity is updated when a connection changes its state.
  /// The gauge of reuse has no attributes. Over the observer's lifetime it is
  /// `1 − (opened − origins) / (requests − origins)`, because the first connection to each origin cannot be avoided. It
  /// is updated when requests end. Origins beyond the first 16,384 are not counted.
  ///
  /// The two metrics of calls, which no convention defines, have `http.request.method`, `server.address`,
  /// `server.port`, `url.scheme`, `lastro.operation` and `error.type`. The first four are missing if not even a base
  /// request could be made.
  ///
  /// The last eight are recorded if a layer around the transport notes its actions (`TransferFacts.notes`):
  /// `LastroEveryday`, `LastroResilience`, `LastroFleet`. They have the attributes of requests that have not ended. Refusals also have
  /// `error.type` (such as `policy/circuit_open`), waits `lastro.wait` (`paced`, `queued`, `quota`, `collapsed`), changes
  /// `lastro.circuit.state` (`open`, `half-open`, `closed`), hedges `lastro.hedge.outcome` (`won`, `lost`, `useless`),
  /// and look-ups `lastro.cache.outcome`. Limiters, which requests share, have only `server.address`, `server.port` and
  /// `url.scheme`, and `lastro.limiter.part` if their keys have parts.
  ///
  /// swift-metrics does not support the histogram boundaries that the conventions recommend; the guide *Observing*
  /// lists them.
  ///
  /// No attribute contains a URL. Hosts and operations may still be numerous: beyond `maximumAttributeSets` distinct
  /// sets of a metric, values go to a single set, `otel.metric.overflow` = `true`.
  ///
  /// Register it once, in `StackConfiguration.observers`.
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
  public static func metrics(
    factory: any MetricsFactory = MetricsSystem.factory, maximumAttributeSets: Int = 2000,
    recordsBodySizes: Bool = false, includesScheme: Bool = true, knownMethods: Set<String>? = nil
  ) -> TelemetryObserver {
    TelemetryObserver(
      MetricsObserver(
        factory: factory, maximumAttributeSets: maximumAttributeSets, recordsBodySizes: recordsBodySizes,
        includesScheme: includesScheme, knownMethods: knownMethods))
  }

  /// Returns an observer that records spans of calls by OpenTelemetry's conventions for HTTP clients (1.44), through
  /// swift-distributed-tracing.
  ///
  /// ```
  /// call            internal   named by RequestOptions.operation; child of the caller's ServiceContext.current
  ///   request       client     one for each that goes out, redirects and retries included; `GET /users/{id}`
  ///   retry         event      one for each wait between attempts
  /// ```
  ///
  /// Each request continues the trace with its own span: it has its own `traceparent`, or the field that the tracer
  /// injects instead.
  ///
  /// A request span has `http.request.method`, `url.full`, `server.address`, `server.port`, `url.scheme`,
  /// `url.template` (`RequestOptions.urlTemplate`), `lastro.operation`, `lastro.attempt`, `http.request.resend_count`
  /// (the number of requests that the call sent before this one), `http.response.status_code`,
  /// `network.protocol.version`, `network.peer.address`, `network.peer.port` and `error.type`. It begins when the
  /// request is passed to the transport, and ends with the response, like `http.client.request.duration`. A request
  /// that was answered from a cache, or refused locally, has `lastro.sent` = false, and is not counted.
  ///
  /// The status is *error* for failures, and for responses from 400 on. A call that the caller cancelled has neither a
  /// status nor `error.type`. Secrets in URLs are replaced by `REDACTED`, and messages are masked. The spans of a
  /// stream end when its body was read, failed or was dropped. Every span ends.
  ///
  /// - Parameters:
  ///   - tracer: creates the spans. Default: the tracer that is bootstrapped at the time of the call,
  ///     `InstrumentationSystem.tracer`.
  ///   - redaction: the masking rules, besides those in a request's options. Default: the usual names.
  ///   - propagatesTo: the origins whose requests propagate the trace. Default `nil`: all. Identifiers and baggage of a
  ///     trace may reveal internal details to third parties.
  ///   - knownMethods: the methods that are not reported as `_OTHER`. Default: those listed in the environment variable
  ///     `OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS`, else those of RFC 9110 and RFC 5789, and QUERY.
  public static func tracing(
    tracer: any Tracer = InstrumentationSystem.tracer, redaction: Redaction = .standard,
    propagatesTo: [Origin]? = nil, knownMethods: Set<String>? = nil
  ) -> TelemetryObserver {
    TelemetryObserver(
      TracingObserver(tracer: tracer, redaction: redaction, propagatesTo: propagatesTo, knownMethods: knownMethods))
  }

  /// Returns an observer that logs one line per call, when it ends, through swift-log; the interceptor `.logging` logs
  /// each attempt instead. A stream gets a line when it is opened, and another one when it ends or fails. If the
  /// caller leaves it before its end, there is no second line.
  ///
  /// Messages are constant texts: "call succeeded", "stream opened", "stream ended", "call failed", "call cancelled",
  /// "stream failed", "more calls failed alike". A stream fails when its body breaks off or stalls, and when its reader
  /// finds it incomplete or invalid. The metadata has the details: `call`, `operation`, `request` (method and URL,
  /// without the values of its query), `attempts`, `duration_ms` (until the stream was opened, ended or failed),
  /// `status`; for a stream that ended also `bytes`, the size of its body; for failures also `stage`, `code`, `error`,
  /// `hint`, `engine_code`. Every value is on one line, and secrets are masked.
  ///
  /// In an outage, most lines would be the same. Failures are alike if they have the same server, the same operation,
  /// and the same status or the same stage and code. Only a limited number of them is logged within a window. The
  /// number of suppressed failures is logged when a call ends after the window, or when the observer is released: "more
  /// calls failed alike", with `count`, `server`, `operation` and `reason`.
  ///
  /// ```swift
  /// configuration.observers = [.logging(to: Logger(label: "github"))]
  /// ```
  ///
  /// Several stacks may share an observer if they have the same clock.
  ///
  /// - Parameters:
  ///   - logger: the logger; its own level determines which events are processed at all.
  ///   - successLevel: the level of a success, and of a stream that was opened or ended. Default info.
  ///   - failureLevel: the level of a failure after all retries. Default warning.
  ///   - cancellationLevel: the level of a cancellation by the caller. Default debug.
  ///   - levelsByStatus: the levels of failures with a status, in place of `failureLevel`. Default: 404 and 410 are
  ///     info. With such a response, a server reports that a resource does not exist, which is often the question and
  ///     not a fault of either side. If every resource must exist, give an empty dictionary.
  ///   - maximumAlike: the maximum number of similar failures that are logged within a window. Default 10; values below
  ///     1 count as 1.
  ///   - window: the length of a window, which begins with its first failure. Default 1 min; with zero or less, every
  ///     failure is logged.
  ///   - redaction: the masking rules, besides those in a request's options.
  public static func logging(
    to logger: Logger, successLevel: Logger.Level = .info, failureLevel: Logger.Level = .warning,
    cancellationLevel: Logger.Level = .debug, levelsByStatus: [Int: Logger.Level] = [404: .info, 410: .info],
    maximumAlike: Int = 10, window: Duration = .seconds(60), redaction: Redaction = .standard
  ) -> TelemetryObserver {
    TelemetryObserver(
      LoggingObserver(
        logger: logger, successLevel: successLevel, failureLevel: failureLevel, cancellationLevel: cancellationLevel,
        levelsByStatus: levelsByStatus, maximumAlike: maximumAlike, window: window, redaction: redaction))
  }
}
