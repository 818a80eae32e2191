// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A recorder of what the parts did to one request. It reports each event to `onEvent` at once, and notes it in the
/// facts of the transfer for the ledger.
struct ResilienceTelling {
  private let onEvent: (@Sendable (ResilienceEvent) -> Void)?
  private(set) var notes: [TransferFacts.Note] = []
  /// Whether the request waited for any part.
  var hasWaited: Bool { notes.contains { $0.wait != nil } }

  init(_ onEvent: (@Sendable (ResilienceEvent) -> Void)?) { self.onEvent = onEvent }

  mutating func tell(_ kind: ResilienceEvent.Kind, _ key: ResilienceKey) {
    onEvent?(ResilienceEvent(kind, key: key))
    if let note = kind.note { notes.append(note) }
  }

  /// Reports a refusal and returns the error; other failures are not reported.
  mutating func told(_ error: TransportError, _ key: ResilienceKey) -> TransportError {
    if error.stage == .policy { tell(.refused(error.code), key) }
    return error
  }

  /// Asks a part for admission, and reports a refusal.
  mutating func asked<Answer: ~Copyable>(
    _ key: ResilienceKey, _ ask: () throws(TransportError) -> Answer
  ) throws(TransportError) -> Answer {
    do throws(TransportError) { return try ask() } catch { throw told(error, key) }
  }

  /// Notes the state of a limiter, which no page of a ledger shows.
  mutating func note(_ snapshot: ConcurrencyLimiter.Snapshot, _ key: ResilienceKey) {
    notes.append(
      TransferFacts.Note("limiter", detail: key.part, bound: .init(inUse: snapshot.inUse, limit: snapshot.limit)))
  }

  /// Adds the notes of a try, whose events were already reported.
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
  /// The ledger's note; `nil` for a refusal, which the ledger has as an error, and for a hedge that was sent.
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
