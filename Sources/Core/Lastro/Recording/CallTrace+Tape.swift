// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes

extension CallTrace {
  /// Creates the trace of a call from its tape. From here on, nothing contains a secret that Lastro knows of.
  init(_ tape: CallTape) {
    let (entries, omissions) = tape.contents
    var writer = TraceWriter(tape, entries, omissions)
    self.init(head: TraceHead(tape), events: writer.events())
  }
}

extension TraceHead {
  fileprivate init(_ tape: CallTape) {
    let configuration = tape.plan.configuration
    call = tape.callID
    isStream = tape.plan.isStream
    bodies = tape.keepsBodies
    acceptance =
      switch tape.plan.acceptance {
      case .successful: "successful"
      case .upgrade: "upgrade"
      case .all: "all"
      }
    hooks = tape.plan.hooks.rawValue
    waitingHooks = tape.plan.waitingHooks.rawValue
    makerWaits = tape.plan.makerWaits
    signs = !configuration.signers.isEmpty
    epoch = tape.epoch
    maximumBodyBytes = configuration.maximumBodyBytes
    maximumErrorBodyBytes = configuration.maximumErrorBodyBytes
    maximumAttempts = configuration.maximumAttempts
    maximumRetryAfter = configuration.maximumRetryAfter.wholeNanoseconds
    quota = configuration.retryQuota.map {
      Quota(capacity: $0.capacity, cost: $0.cost, throttled: $0.throttledCost)
    }
    timeouts = TraceTimeouts(tape.plan.timeouts(for: tape.plan.options))
  }
}

/// Makes the events of a trace from a tape.
private struct TraceWriter {
  let tape: CallTape
  let entries: [CallTape.Entry]
  let redaction: Redaction
  /// The same redaction, which keeps lengths.
  let filling: Redaction
  /// The transfers whose bytes are left out, with the reasons.
  var omissions: [Int: ReplayOmission]
  /// The origin of the engine's times.
  let base: Int64
  /// The masked bytes by the index of their entry.
  var masked: [Int: [UInt8]] = [:]
  /// The masked frames by the index of their entry.
  var frames: [Int: [TraceFrame]] = [:]
  /// The text bodies that were compressed, by the index of the entry that ends their transfer.
  var decoded: [Int: String] = [:]

  /// The maximum length of a compressed body that is replaced.
  private static let mostBlankBytes = 8 << 20

  private struct Direction: Hashable {
    var transfer: Int
    var link: UInt64
    var isSent: Bool
  }

  init(_ tape: CallTape, _ entries: [CallTape.Entry], _ omissions: [Int: ReplayOmission]) {
    self.tape = tape
    self.entries = entries
    self.omissions = omissions
    var redaction = Redaction.standard.adding(tape.plan.options)
    var base: Int64?
    for entry in entries {
      switch entry {
      case .pipeline(let event, _):
        switch event.kind {
        case .transferStarted(let request): redaction = redaction.adding(request)
        case .callEnded(.success(let response)): redaction = redaction.adding(response.ledger.redaction.secrets)
        case .callEnded(.failure(let error)): redaction = redaction.adding(error.ledger.redaction.secrets)
        default: break
        }
      case .link(_, _, _, .began(let enqueuedAt, _, _)): base = base ?? enqueuedAt
      default: break
      }
    }
    self.redaction = redaction
    self.base = base ?? 0
    filling = redaction.keepingLengths
  }

  mutating func events() -> [TraceEvent] {
    maskBytes()
    return entries.indices.compactMap { event(at: $0) }
  }

  // MARK: Bytes

  private mutating func maskBytes() {
    var parts: [Direction: [Int]] = [:]
    var framed: [Direction: [Int]] = [:]
    var requests: [Int: ResourceRequest] = [:]
    var outcomes: [Int: (index: Int, answer: FetchEvent.Answer?)] = [:]
    var latest: ResourceRequest?
    var open: [Int] = []
    for (index, entry) in entries.enumerated() {
      switch entry {
      case .pipeline(let event, _):
        if case .transferStarted(let request) = event.kind { latest = request }
        guard case .transferEnded(let result) = event.kind else { continue }
        for transfer in open { outcomes[transfer] = (index, try? result.get()) }
        open = []
      case .transfer(let number):
        requests[number] = latest
        open.append(number)
      case .link(let transfer, let link?, _, .sent):
        parts[Direction(transfer: transfer, link: link, isSent: true), default: []].append(index)
      case .link(let transfer, let link?, _, .read):
        parts[Direction(transfer: transfer, link: link, isSent: false), default: []].append(index)
      case .link(let transfer, let link?, _, .frames(let isSent, _)):
        framed[Direction(transfer: transfer, link: link, isSent: isSent), default: []].append(index)
      default: break
      }
    }
    let mask = TraceMask(redaction: filling, keepsBodies: tape.keepsBodies)
    for (direction, indices) in parts {
      let whole = indices.flatMap { bytes(at: $0) }
      let shown: [UInt8]
      if direction.isSent {
        shown = mask.request(whole)
      } else {
        let request = requests[direction.transfer]
        var response = mask.response(whole, toHead: request?.head.method == .head)
        if response.isEncoded, !response.body.isEmpty {
          blank(&response, of: direction.transfer, request, outcomes[direction.transfer])
        }
        shown = response.bytes
      }
      var start = 0
      for index in indices {
        let count = bytes(at: index).count
        masked[index] = Array(shown[start..<start + count])
        start += count
      }
    }
    for (direction, indices) in framed {
      var shown = mask.frames(indices.map { frames(at: $0) })
      for body in shown.bodies.values where body.isEncoded {
        let empty = blank(
          of: body.count, body.isGzip, direction.transfer, requests[direction.transfer], outcomes[direction.transfer])
        if let empty { shown.replace(body, with: empty) }
      }
      for (index, event) in zip(indices, shown.events) { frames[index] = event }
    }
  }

  /// Returns a compressed body of a number of bytes that decompresses to nothing; `nil` if the transfer's bytes are left
  /// out.
  private mutating func blank(
    of count: Int, _ isGzip: Bool, _ transfer: Int, _ request: ResourceRequest?,
    _ outcome: (index: Int, answer: FetchEvent.Answer?)?
  ) -> [UInt8]? {
    if count == 0 { return [] }
    if tape.keepsBodies, let outcome, let body = outcome.answer?.body,
      let text = String(validating: body, as: UTF8.self)
    {
      decoded[outcome.index] = filling.text(text, isCut: true)
    }
    // A body that was cut, or that does not decompress, must stay so.
    guard isGzip, count <= Self.mostBlankBytes, let answer = outcome?.answer, answer.body != nil,
      answer.response.facts.bodyCut == nil,
      request?.options.requiresBody == false, let empty = TraceMask.emptyGzip(ofCount: count)
    else {
      omissions[transfer] = .compressed
      return nil
    }
    return empty
  }

  private func frames(at index: Int) -> [FramePiece] {
    if case .link(_, _, _, .frames(_, let pieces)) = entries[index] { pieces } else { [] }
  }

  /// Replaces a compressed body by one that decompresses to nothing, or leaves the transfer's bytes out.
  private mutating func blank(
    _ response: inout TraceMask.Response, of transfer: Int, _ request: ResourceRequest?,
    _ outcome: (index: Int, answer: FetchEvent.Answer?)?
  ) {
    let count = response.body.reduce(0) { $0 + $1.count }
    let empty =
      blank(of: count, response.isGzip, transfer, request, outcome)
      ?? Array(repeating: UInt8(ascii: "*"), count: count)
    var taken = 0
    for range in response.body {
      response.bytes.replaceSubrange(range, with: empty[taken..<taken + range.count])
      taken += range.count
    }
  }

  private func bytes(at index: Int) -> [UInt8] {
    switch entries[index] {
    case .link(_, _, _, .sent(let bytes)), .link(_, _, _, .read(let bytes)): bytes
    default: []
    }
  }

  // MARK: Events

  private func event(at index: Int) -> TraceEvent? {
    switch entries[index] {
    case .random(let bits):
      var event = TraceEvent(.random)
      event.random = bits
      return event
    case .quota(let tokens):
      var event = TraceEvent(.quota)
      event.tokens = tokens
      return event
    case .opinion(let text):
      var event = TraceEvent(.opinion)
      event.text = redaction.text(text)
      return event
    case .transfer(let number):
      var event = TraceEvent(.transfer)
      event.transfer = number
      event.omission = omissions[number]
      return event
    case .link(let transfer, let link, let time, let event):
      return omissions[transfer] != nil ? nil : self.event(event, at: index, transfer, link, time)
    case .pipeline(let event, let clock): return self.event(event, clock, at: index)
    }
  }

  private func event(
    _ event: LinkEvent, at index: Int, _ transfer: Int, _ link: UInt64?, _ time: Int64
  ) -> TraceEvent {
    var result: TraceEvent
    switch event {
    case .began(let enqueuedAt, let startedAt, let settings):
      result = TraceEvent(.began)
      result.enqueued = enqueuedAt - base
      result.started = startedAt - base
      result.settings = settings
    case .used(let note):
      result = TraceEvent(.used)
      result.used = TraceLink(note, since: base)
    case .sent, .read:
      if case .sent = event { result = TraceEvent(.sent) } else { result = TraceEvent(.read) }
      result.pieces = TracePiece.pieces(of: (masked[index] ?? [])[...])
    case .frames(let isSent, _):
      result = TraceEvent(isSent ? .sent : .read)
      result.frames = frames[index]
    case .blocked: result = TraceEvent(.blocked)
    case .ended(let isClean):
      result = TraceEvent(.ended)
      result.isClean = isClean
    case .failed(let error):
      result = TraceEvent(.failed)
      result.error = TraceError(error, redaction)
    case .delivery(let acknowledged, let queued, let acknowledgedAt):
      result = TraceEvent(.delivery)
      (result.acknowledged, result.queued) = (acknowledged, queued)
      result.acknowledgedAt = acknowledgedAt.map { $0 - base }
    case .closed: result = TraceEvent(.closed)
    case .dialFailed(let error):
      result = TraceEvent(.dialFailed)
      result.error = TraceError(error, redaction)
    }
    result.at = time - base
    result.transfer = transfer
    result.link = link
    return result
  }

  private func event(_ event: FetchEvent, _ clock: [Int64], at index: Int) -> TraceEvent {
    var result: TraceEvent
    switch event.kind {
    case .callStarted: result = TraceEvent(.callStarted)
    case .attemptStarted: result = TraceEvent(.attemptStarted)
    case .transferStarted(let request):
      result = TraceEvent(.transferStarted)
      result.request = TraceRequest(request, by: tape.plan, filling)
    case .transferEnded(let outcome):
      result = TraceEvent(.transferEnded)
      switch outcome {
      case .success(let answer):
        result.answer = TraceAnswer(answer.response.head, filling)
        result.answer?.bodyLength = answer.body?.count
        result.answer?.bodySHA256 = answer.body.flatMap { try? MessageDigest(of: $0) }?.hexadecimal
        result.facts = TraceFacts(answer.response.facts, redaction)
        result.text = decoded[index]
      case .failure(let error): result.error = TraceError(error, redaction)
      }
    case .attemptEnded(let attempt):
      result = TraceEvent(.attemptEnded)
      result.outcome = attempt.outcome.rawValue
      result.error = attempt.error.map { TraceError($0, redaction) }
      result.quotaLeft = attempt.quotaLeft
    case .retryScheduled(let delay, let source, let reason):
      result = TraceEvent(.retryScheduled)
      result.delay = delay.wholeNanoseconds
      result.source = source.rawValue
      result.text = redaction.text(reason)
    case .callEnded(let outcome):
      result = TraceEvent(.callEnded)
      let ledger: AttemptLedger
      switch outcome {
      case .success(let response): ledger = response.ledger
      case .failure(let error): ledger = error.ledger
      }
      result.ledger = "\(ledger)"
      result.ledgerJson = ledger.json()
      result.retryEnd = ledger.retryEnd.map { TraceRetryEnd($0, redaction) }
    case .bodyEnded(let bytes, let error, let facts):
      result = TraceEvent(.bodyEnded)
      result.acknowledged = UInt64(clamping: bytes)
      result.error = error.map { TraceError($0, redaction) }
      result.facts = facts.map { TraceFacts($0, redaction) }
    }
    result.clock = clock.isEmpty ? nil : clock
    result.attempt = event.attempt
    if event.hop > 0 { result.hop = event.hop }
    return result
  }
}

extension TraceRequest {
  fileprivate init(_ request: ResourceRequest, by plan: CallTape.Plan, _ redaction: Redaction) {
    let options = request.options
    method = request.head.method.rawValue
    url = redaction.url(request.url)
    fields = request.head.headerFields.map { [$0.name.rawName, redaction.value(of: $0)] }
    bodyLength = request.body.length
    switch request.body.source {
    case .stream, .file: isStream = true
    case .empty, .bytes: isStream = false
    }
    isReplayable = request.body.isReplayable
    operation = options.operation.map { redaction.text($0) }
    timeouts = TraceTimeouts(plan.timeouts(for: options))
    maximumBodyBytes = options.maximumBodyBytes
    let redirects = options.redirects ?? plan.configuration.redirects
    (redirectLimit, allowsInsecureRedirects) = (redirects.limit, redirects.allowsInsecure)
    idempotency =
      switch options.idempotency {
      case .byMethod: "method"
      case .idempotent: "yes"
      case .notIdempotent: "no"
      case .generatedKey: "generated"
      case .key: "key"
      }
    shownQueryItems = options.shownQueryItems.sorted()
    requiresBody = options.requiresBody
  }
}

extension TraceRetryEnd {
  fileprivate init(_ end: Retry.End, _ redaction: Redaction) {
    code = end.code
    text = redaction.text("\(end)")
    switch end {
    case .deadlineTooClose(let wait, _, false), .policy(.delay(let wait)): self.wait = wait.wholeNanoseconds
    case .policy(.retries(let count)): retries = count
    default: break
    }
  }
}
