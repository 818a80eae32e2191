// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// An exchange on one connection: trust, request, response header.
struct GeminiExchange {
  struct Answer {
    var header: GeminiResponseHeader
    var stream: any ByteStream
    /// The bytes after the header.
    var rest: Data
    /// The verdict on the server; `nil` if it is not known here.
    var verdict: TrustVerdict?
  }

  /// A decision of the user about a changed key.
  private struct Accepted {
    /// The known key at the time of the decision, which applies to no other.
    var known: GeminiKnownHost
    var key: SPKIHash
    var isOnce: Bool
  }

  /// The maximum number of connections per exchange, which limits retries while the known key keeps changing.
  private static let maximumConnections = 4

  let dialer: any Dialer
  let configuration: GeminiConfiguration
  let url: GeminiURL
  /// The deadline, which is extended by the time that questions to the application take.
  var clock: GeminiDeadline

  mutating func answer() async throws(GeminiError) -> Answer {
    let (stream, verdict) = try await connect()
    do throws(GeminiError) {
      var answer = try await ask(stream)
      answer.verdict = verdict
      return answer
    } catch {
      stream.close()
      throw error
    }
  }

  // MARK: connection and trust

  private mutating func connect() async throws(GeminiError) -> (any ByteStream, TrustVerdict?) {
    switch configuration.trust.kind {
    case .authorities: return (try await dial(nil), nil)
    case .judged(let judge): return (try await dial(judge), nil)
    case .firstUse(let store, let rules, let onMismatch): return try await connect(store, rules, onMismatch)
    }
  }

  private mutating func connect(
    _ store: any GeminiKnownHosts, _ rules: GeminiFirstUseRules, _ onMismatch: GeminiTrust.ChangeHandler?
  ) async throws(GeminiError) -> (any ByteStream, TrustVerdict?) {
    let host = url.authority
    var accepted: Accepted?
    for _ in 0..<Self.maximumConnections {
      let known = try await stored { () async throws(ConfigurationError) in try await store.knownHost(host) }
      if accepted?.known != known { accepted = nil }
      let judge = FirstUseJudge(
        host: host, known: known, accepting: accepted?.key, rules: rules, time: configuration.time)
      let stream: any ByteStream
      do throws(GeminiError) {
        stream = try await dial(judge)
      } catch {
        accepted = try await decide(judge.finding, after: error, onMismatch)
        continue
      }
      guard case .accepted(let presented, let verdict)? = judge.finding else {
        stream.close()
        throw unproven
      }
      let isForOnce = accepted.map { $0.isOnce && $0.key == presented.pin } ?? false
      if isForOnce || presented == known { return (stream, verdict) }
      do throws(GeminiError) {
        let isStored = try await stored { () async throws(ConfigurationError) in
          try await store.replace(host, known, with: presented)
        }
        if isStored { return (stream, verdict) }
      } catch {
        stream.close()
        throw error
      }
      // Another request stored a key meanwhile. Its key counts, and this server is judged again on a new connection.
      accepted = nil
      stream.close()
    }
    throw GeminiError(
      stage: .trust, code: .knownHostsFailed, message: "the known key of \(url.authority) keeps changing",
      hint: "find out what else writes the known hosts", url: url)
  }

  /// Decides what to accept on the next connection, after one that failed.
  private mutating func decide(
    _ finding: FirstUseJudge.Finding?, after error: GeminiError, _ onMismatch: GeminiTrust.ChangeHandler?
  ) async throws(GeminiError) -> Accepted {
    guard error.stage != .cancelled, error.stage != .timeout else { throw error }
    switch finding {
    case .refused(let code, let message, let hint):
      throw GeminiError(stage: .trust, code: code, message: message, hint: hint, url: url, cause: error.cause)
    case .changed(let change):
      var refusal = GeminiError(
        stage: .trust, code: .certificateChanged, message: change.message,
        hint:
          "ask its owner through another channel whether the key was changed; if not, an attacker may be "
          + "intercepting the connection",
        url: url, cause: error.cause)
      refusal.certificateChange = change
      guard let onMismatch else { throw refusal }
      let decision = try await Self.asking({ [refusal] in await onMismatch(refusal) }, forgiving: &clock, url: url)
      if decision == .refuse { throw refusal }
      return Accepted(known: change.known, key: change.presented.pin, isOnce: decision == .acceptOnce)
    case .accepted, nil: throw error
    }
  }

  private var unproven: GeminiError {
    GeminiError(
      stage: .trust, code: .trustRefused,
      message: "the dialer connected to \(url.authority) and presented no certificate",
      hint: "trust on first use needs a dialer that asks DialRequest.TLS.soleJudge", url: url)
  }

  /// Calls the store, which may hang: the total limit applies, and cancelling the task ends the wait.
  private func stored<Value: Sendable>(
    _ operation: @escaping @Sendable () async throws(ConfigurationError) -> Value
  ) async throws(GeminiError) -> Value {
    let answer = await interruptible(within: clock.limit(nil), time: clock.time) {
      () async -> Result<Value, ConfigurationError> in
      do throws(ConfigurationError) {
        return .success(try await operation())
      } catch {
        return .failure(error)
      }
    }
    switch answer {
    case .success(.success(let value)): return value
    case .success(.failure(let error)):
      guard !Task.isCancelled else { throw .cancelled(url: url) }
      throw GeminiError(stage: .trust, code: .knownHostsFailed, message: error.message, hint: error.hint, url: url)
    case .failure(.limit): throw clock.error(url: url)
    case .failure(.cancelled): throw .cancelled(url: url)
    }
  }

  private func dial(_ soleJudge: (any ServerTrustJudge)?) async throws(GeminiError) -> any ByteStream {
    guard !clock.hasPassed else { throw clock.error(url: url) }
    var options = configuration.connection
    options.tls.hostIdentities = [:]
    options.tls.identity = configuration.identities.identity(for: url)
    let request = DialRequest(
      host: url.host.text, port: url.port, tls: DialRequest.TLS(soleJudge: soleJudge), connection: options,
      connectTimeout: clock.limit(configuration.connectTimeout))
    do throws(TransportError) {
      return try await dialer.dial(request)
    } catch {
      throw failed(error)
    }
  }

  // MARK: request and header

  private func ask(_ stream: any ByteStream) async throws(GeminiError) -> Answer {
    let countdown = Countdown(configuration.headerTimeout, now: configuration.time.now)
    func left() throws(GeminiError) -> Duration? {
      let left = clock.limit(countdown.left)
      if left == .zero { throw late }
      return left
    }
    let limit = try left()
    do throws(TransportError) {
      try await stream.write(GeminiRequest(url: url).data, within: limit)
    } catch {
      throw failed(error, isHeader: true)
    }
    var machine = GeminiHeaderMachine()
    while true {
      let limit = try left()
      let data: Data?
      do throws(TransportError) {
        data = try await stream.read(upTo: 16_384, within: limit)
      } catch {
        throw failed(error, isHeader: true)
      }
      if let answer = try parseHeader(data, with: &machine, stream) { return answer }
    }
  }

  private func parseHeader(
    _ data: Data?, with machine: inout GeminiHeaderMachine, _ stream: any ByteStream
  ) throws(GeminiError) -> Answer? {
    do throws(GeminiHeaderViolation) {
      guard let data else {
        try machine.finish()
        return nil
      }
      // Copy only as much as a header can have, because this may be the first piece of a body.
      let (header, consumed) = try machine.consume(Array(data.prefix(GeminiHeaderMachine.maximumBytes)))
      guard let header, let status = GeminiStatus(rawValue: header.status) else { return nil }
      return Answer(
        header: GeminiResponseHeader(status: status, meta: header.meta), stream: stream,
        rest: status.isSuccess ? Data(data.dropFirst(consumed)) : Data(), verdict: nil)
    } catch {
      throw violated(error)
    }
  }

  private func violated(_ violation: GeminiHeaderViolation) -> GeminiError {
    GeminiError(
      stage: .response, code: violation.code, message: violation.message,
      hint: "the server does not follow the Gemini specification; report it to its owner", url: url)
  }

  private var late: GeminiError {
    guard !clock.hasPassed else { return clock.error(url: url) }
    return GeminiError(
      stage: .timeout, code: .headerTimeout,
      message: "no complete response header came within \(configuration.headerTimeout?.brief ?? "the header timeout")",
      hint: "raise GeminiConfiguration.headerTimeout, if the server is known to be slow", url: url)
  }

  private func failed(_ error: TransportError, isHeader: Bool = false) -> GeminiError {
    if error.stage == .cancelled { return .cancelled(url: url) }
    if error.code == .idleTimeout, isHeader { return late }
    if error.stage == .timeout, clock.hasPassed { return clock.error(url: url) }
    return GeminiError(error, url: url)
  }

  /// Asks the application without counting the time. Cancelling the task ends the wait.
  static func asking<Value: Sendable>(
    _ question: @escaping @Sendable () async -> Value, forgiving clock: inout GeminiDeadline, url: GeminiURL
  ) async throws(GeminiError) -> Value {
    let start = clock.time.now()
    defer { clock.forgive(since: start) }
    switch await interruptible(within: nil, time: clock.time, question) {
    case .success(let value): return value
    case .failure: throw .cancelled(url: url)
    }
  }
}
