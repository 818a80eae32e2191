// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The notes of pacer, limiter and breaker on a request, for its transfer facts.
struct ResilienceTelling {
  var notes: [TransferFacts.Note] = []
  /// Whether the request waited for any part.
  var hasWaited: Bool { notes.contains { $0.wait != nil } }

  /// Adds a note that a circuit changed state: because the request ended, because it is the first probe, or because of
  /// another instance.
  mutating func addCircuitNote(from old: CircuitState, to new: CircuitState, because reason: String? = nil) {
    let text = "circuit from \(old) to \(new)" + (reason.map { ", because \($0)" } ?? "")
    notes.append(TransferFacts.Note("circuit", detail: "\(new)", text: text))
  }

  /// Notes the state of a limiter, which no page of a ledger shows.
  mutating func note(_ snapshot: ConcurrencyLimiter.Snapshot, _ key: ResilienceKey) {
    notes.append(
      TransferFacts.Note("limiter", detail: key.part, bound: .init(inUse: snapshot.inUse, limit: snapshot.limit)))
  }

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
