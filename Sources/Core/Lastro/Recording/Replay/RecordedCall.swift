// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// The attempts and transfers of a trace.
struct RecordedCall: Sendable {
  struct Transfer: Sendable {
    var request: TraceRequest
    /// The number of the transfer that reached the transport, or the reason why it cannot be performed again.
    var engineTransfer: Result<Int, ReplayOmission> = .failure(.notSent)
    var tokens: Int?
    /// The event with the outcome.
    var outcome: TraceEvent?
  }

  struct Attempt: Sendable {
    var transfers: [Transfer] = []
    var end: TraceEvent?
    /// The opinions of the interceptors on its failure.
    var opinions: [String] = []
    /// The wait before the next attempt; `nil` if there was none.
    var retry: TraceEvent?

    /// Whether the attempt was cancelled before it asked for a time, other than those of its end.
    var wasCancelledAtOnce: Bool {
      transfers.isEmpty && end?.error?.stage == .cancelled && end?.clock?.count == 2
    }
  }

  var attempts: [Attempt] = []
  var randoms: [UInt64] = []
  /// Whether a key was generated for the call.
  var generatesKey = false
  var end: TraceEvent?
  /// The request of the ledger, such as `GET` and `https://a.example/`; `nil` if there is none.
  private(set) var summary: (method: HTTPRequest.Method, url: String)?

  init(_ trace: CallTrace) {
    for event in trace.events {
      switch event.event {
      case .attemptStarted: attempts.append(Attempt())
      case .transferStarted:
        guard let request = event.request, !attempts.isEmpty else { continue }
        attempts[attempts.count - 1].transfers.append(Transfer(request: request))
      case .quota: change { $0.tokens = event.tokens }
      case .transfer:
        change { transfer in
          let found = event.omission.map { .failure($0) } ?? Result<Int, ReplayOmission>.success(event.transfer ?? 0)
          if case .failure(.notSent) = transfer.engineTransfer {
            transfer.engineTransfer = found
          } else {
            transfer.engineTransfer = .failure(.hedged)
          }
        }
      case .transferEnded: change { $0.outcome = event }
      case .attemptEnded: if !attempts.isEmpty { attempts[attempts.count - 1].end = event }
      case .opinion: if let text = event.text, !attempts.isEmpty { attempts[attempts.count - 1].opinions.append(text) }
      case .retryScheduled: if !attempts.isEmpty { attempts[attempts.count - 1].retry = event }
      case .random:
        if let bits = event.random { randoms.append(bits) }
        if attempts.count == 1, attempts[0].transfers.isEmpty { generatesKey = true }
      case .callEnded:
        end = event
        // The first line of a ledger is "call 17: GET https://a.example/ [operation]".
        let line = event.ledger?.split(separator: "\n").first ?? ""
        let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).dropFirst(2)
        if words.count == 2, let method = HTTPRequest.Method(String(words[2])), words[2] != "no" {
          summary = (method, String(words[3]))
        }
      default: break
      }
    }
  }

  private mutating func change(_ body: (inout Transfer) -> Void) {
    guard let attempt = attempts.indices.last, let last = attempts[attempt].transfers.indices.last else { return }
    body(&attempts[attempt].transfers[last])
  }

  /// All transfers, in order.
  var transfers: [Transfer] { attempts.flatMap(\.transfers) }

  func attempt(_ number: Int) -> Attempt? { attempts.indices.contains(number - 1) ? attempts[number - 1] : nil }

  /// Returns the request that an attempt begins with.
  func baseRequest(_ variation: ReplayVariation) throws(TransportError) -> ResourceRequest {
    if let first = transfers.first?.request {
      var request = try first.resourceRequest(variation)
      if generatesKey, first.idempotency == "generated" { request.head.headerFields[.idempotencyKey] = nil }
      return request
    }
    if let summary, let url = summary.url.split(separator: " ").first,
      let request = try? ResourceRequest(method: summary.method, url: String(url))
    {
      return request
    }
    throw attempts.first?.end?.error?.error ?? .cancelled()
  }

  /// Returns the action that the interceptors took after a failed attempt, as far as its consequences show.
  func action(after number: Int) -> Retry.Action {
    guard let attempt = attempt(number) else { return .none }
    if let retry = attempt.retry {
      guard let delay = retry.delay, delay > 0, retry.source == Lastro.Attempt.DelaySource.policy.rawValue else {
        return .retry
      }
      return .retryAfter(.nanoseconds(delay))
    }
    guard let end = end?.retryEnd else { return .none }
    switch end.code {
    case "retries": return .noRetry(.retries(end.retries ?? 0))
    case "delay": return .noRetry(.delay(.nanoseconds(end.wait ?? 0)))
    case "policy": return .noRetry(.custom(ReplayedReason(description: end.text)))
    case "deadline": return end.wait.map { .retryAfter(.nanoseconds($0)) } ?? .retry
    default: return .retry
    }
  }
}

/// An error of the application, of which a trace has the text.
struct ReplayedReason: Error, CustomStringConvertible {
  let description: String
}

extension TraceRequest {
  /// Returns the request, whose body has the recorded length.
  func resourceRequest(_ variation: ReplayVariation) throws(TransportError) -> ResourceRequest {
    var options = RequestOptions(operation: operation)
    var limits = timeouts.timeouts
    variation.apply(to: &limits)
    options.timeouts = limits
    options.maximumBodyBytes = maximumBodyBytes
    options.redirects = .follow(limit: redirectLimit, allowsInsecure: allowsInsecureRedirects)
    options.requiresBody = requiresBody
    options.shownQueryItems = Set(shownQueryItems)
    // A ledger shows *** for a secret that is known by its value.
    let runs = url.split { $0 != "*" }.filter { $0.count >= SecretMatcher.leastBytes }
    options.secrets = Set(runs.map { Secret(String($0)) })
    let fields = HTTPFields(traced: fields)
    switch idempotency {
    case "yes": options.idempotency = .idempotent
    case "no": options.idempotency = .notIdempotent
    case "generated": options.idempotency = .generatedKey
    case "key": options.idempotency = fields[.idempotencyKey].map { .key($0) } ?? .byMethod
    default: break
    }
    var request = try ResourceRequest(method: method, url: url, body: body, options: options)
    request.head.headerFields = fields
    return request
  }

  private var body: RequestBody {
    guard let bodyLength, !isStream else {
      let length = bodyLength
      return RequestBody(source: .stream(length: length, isReplayable: isReplayable, open: { { nil } }))
    }
    if bodyLength == 0 { return .empty }
    return .raw(Array(repeating: UInt8(ascii: "*"), count: Int(min(bodyLength, 64 << 20))))
  }
}
