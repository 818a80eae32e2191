// SPDX-License-Identifier: Apache-2.0

/// The counts of the results that users received.
struct Tally: Sendable {
  var requests = 0
  var answered = 0
  var whole = 0
  var old = 0
  var withoutPrice = 0
  var inEuros = 0
  var errors = 0
  var slowest = Duration.zero
  /// An example of the errors.
  var example: String?

  mutating func add(_ result: Result<Offer, any Error>, after duration: Duration) {
    requests += 1
    slowest = max(slowest, duration)
    switch result {
    case .success(let offer):
      answered += 1
      if offer.isOld { old += 1 }
      if offer.price == nil { withoutPrice += 1 }
      if offer.currency == "EUR" { inEuros += 1 }
      if !offer.isOld, offer.price != nil, offer.currency != "EUR" { whole += 1 }
    case .failure(let error):
      errors += 1
      example = "\(error)"
    }
  }

  mutating func add(_ other: Tally) {
    requests += other.requests
    answered += other.answered
    whole += other.whole
    old += other.old
    withoutPrice += other.withoutPrice
    inEuros += other.inEuros
    errors += other.errors
    slowest = max(slowest, other.slowest)
    example = example ?? other.example
  }
}
