// SPDX-License-Identifier: Apache-2.0

import Lastro

/// What the parts did to one request: told at once to those who asked for it, and noted in the facts of its transfer,
/// which the ledger has.
struct ResilienceTelling {
  private let onEvent: (@Sendable (ResilienceEvent) -> Void)?
  private(set) var notes: [TransferFacts.Note] = []
  /// Whether the request waited for anything.
  var hasWaited: Bool { notes.contains { $0.wait != nil } }

  init(_ onEvent: (@Sendable (ResilienceEvent) -> Void)?) { self.onEvent = onEvent }

  mutating func tell(_ kind: ResilienceEvent.Kind, _ key: ResilienceKey) {
    onEvent?(ResilienceEvent(kind, key: key))
    if let note = kind.note { notes.append(note) }
  }

  /// Tells of a refusal; other failures pass.
  mutating func told(_ error: TransportError, _ key: ResilienceKey) -> TransportError {
    if error.stage == .policy { tell(.refused(error.code), key) }
    return error
  }

  /// Asks a part, and tells where it refuses.
  mutating func asked<Answer: ~Copyable>(
    _ key: ResilienceKey, _ ask: () throws(TransportError) -> Answer
  ) throws(TransportError) -> Answer {
    do throws(TransportError) { return try ask() } catch { throw told(error, key) }
  }

  /// Notes how a limiter stands, which no page of a ledger shows.
  mutating func note(_ snapshot: ConcurrencyLimiter.Snapshot, _ key: ResilienceKey) {
    notes.append(
      TransferFacts.Note("limiter", detail: key.part, bound: .init(inUse: snapshot.inUse, limit: snapshot.limit)))
  }

  /// Takes what was told of a try, which was told to others already.
  mutating func take(_ other: ResilienceTelling) { notes += other.notes }

  func noted(_ response: TransferResponse) -> TransferResponse {
    guard !notes.isEmpty else { return response }
    var response = response
    response.facts.notes += notes
    return response
  }

  func noted(_ error: TransportError) -> TransportError {
    guard !notes.isEmpty else { return error }
    var error = error
    var facts = error.facts ?? TransferFacts()
    facts.notes += notes
    error.facts = facts
    return error
  }
}

extension ResilienceEvent.Kind {
  /// What stands in the ledger; `nil` for a refusal, whose error does.
  var note: TransferFacts.Note? {
    switch self {
    case .paced(let wait): TransferFacts.Note("paced", text: "waited \(wait.brief) for its pace", wait: wait)
    case .queued(let wait): TransferFacts.Note("queued", text: "waited \(wait.brief) for room", wait: wait)
    case .refused, .hedgeSent: nil
    case .circuit(let old, let new):
      TransferFacts.Note("circuit", detail: "\(new)", text: "circuit from \(old) to \(new)")
    case .hedgeEnded(let number, let end, let sentAfter):
      TransferFacts.Note("hedged", detail: end.rawValue, text: "hedge \(number) at \(sentAfter.brief), \(end)")
    case .hedgeWithheld(let veto):
      TransferFacts.Note("unhedged", detail: veto.rawValue, text: "no hedge: \(veto.rawValue)")
    }
  }
}
