// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

/// The cache's handling of a request, in the terms of RFC 9211.
package struct CacheReport: Sendable, Hashable, CustomStringConvertible {
  /// The way in which the request was answered.
  package var outcome: CacheOutcome
  /// The reason for asking the server; `nil` if it was not asked. Default `nil`.
  package var forwardReason: CacheDecision.ForwardReason?
  /// The status code of the server's response. Default `nil`.
  package var forwardStatus: Int?
  /// The age of the response from the cache, in whole seconds. Default `nil`.
  package var age: Int?
  /// The number of seconds for which the response remains fresh; negative if it is stale. Default `nil`.
  package var ttl: Int?
  /// Whether the request was answered by another request's transfer. Default false.
  package var isCollapsed = false
  /// Whether the server's response was stored, or, if it is streamed, is being stored. Default false.
  package var isStored = false

  /// Creates a report.
  package init(_ outcome: CacheOutcome) { self.outcome = outcome }

  /// The report as a member of the `Cache-Status` field (RFC 9211), with the age added: `Lastro; hit; ttl=376; age=24`.
  package var description: String { member + (age.map { "; age=\($0)" } ?? "") }

  /// The report as a member of the `Cache-Status` field: `Lastro; hit; ttl=376`.
  package var member: String {
    var text = "Lastro"
    if forwardReason == nil, outcome == .hit || outcome == .staleServed { text += "; hit" }
    if let forwardReason { text += "; fwd=\(forwardReason.rawValue)" }
    if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
    if let ttl { text += "; ttl=\(ttl)" }
    if isStored { text += "; stored" }
    if isCollapsed { text += "; collapsed" }
    return text
  }
}

extension CacheReport {
  /// The name of the note that carries a report.
  static let noteName = "cache"

  var note: TransferFacts.Note { TransferFacts.Note(Self.noteName, detail: outcome.rawValue, text: description) }

  /// Parses a note that ``note`` made.
  init?(_ note: TransferFacts.Note) {
    guard note.name == Self.noteName, let outcome = CacheOutcome(rawValue: note.detail) else { return nil }
    self.init(outcome)
    for part in note.text.split(separator: ";").map({ $0.drop { $0 == " " } }) {
      let sides = part.split(separator: "=", maxSplits: 1).map(String.init)
      let value = sides.count == 2 ? sides[1] : ""
      switch sides.first {
      case "fwd": forwardReason = CacheDecision.ForwardReason(rawValue: value)
      case "fwd-status": forwardStatus = Int(value)
      case "ttl": ttl = Int(value)
      case "age": age = Int(value)
      case "stored": isStored = true
      case "collapsed": isCollapsed = true
      default: break
      }
    }
  }
}

extension TransferFacts {
  /// The cache's report on the request; `nil` if the stack has no cache.
  package var cacheReport: CacheReport? { notes.lazy.compactMap(CacheReport.init).first }
}
