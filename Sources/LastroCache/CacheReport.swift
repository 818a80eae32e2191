// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// What the cache did with a request, as RFC 9211 has it.
///
/// ```swift
/// let report = response.facts.cache
/// ```
public struct CacheReport: Sendable, Hashable, CustomStringConvertible {
  /// How the request was answered. Other kinds may come: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Outcome: String, Sendable, Hashable {
    /// From the cache.
    case hit
    /// From the cache, after the server said that it still holds.
    case revalidated
    /// By the server.
    case missed
    /// From the cache, though it is no longer fresh.
    case staleServed = "stale_served"
    /// By the server, past the cache; or, with ``CacheMode/onlyStored``, by nothing: then the status is 504.
    case bypassed
  }

  /// Why the request went on to the server (RFC 9211 §2.2).
  @nonexhaustive
  public enum ForwardReason: String, Sendable, Hashable {
    /// Nothing is kept for the URL.
    case uriMiss = "uri-miss"
    /// What is kept was for other fields of the request.
    case varyMiss = "vary-miss"
    /// What is kept is not fresh.
    case stale
    /// The request asked for it.
    case request
    /// The method is none that a cache answers.
    case method
    /// Another part of the body is asked for than can be given.
    case partial
    /// The cache was not asked.
    case bypass
  }

  /// How it was answered.
  public var outcome: Outcome
  /// Why the server was asked, where it was. Default `nil`.
  public var forwardReason: ForwardReason?
  /// What the server answered. Default `nil`.
  public var forwardStatus: Int?
  /// Age of what the cache gave, in whole seconds. Default `nil`.
  public var age: Int?
  /// For how many seconds more it is fresh; negative where it is not. Default `nil`.
  public var ttl: Int?
  /// Whether it was answered by another request's transfer. Default false.
  public var isCollapsed = false
  /// Whether the server's answer is kept, or, of a streamed one, is being kept. Default false.
  public var isStored = false

  /// Makes a report.
  public init(_ outcome: Outcome) { self.outcome = outcome }

  /// As ``member``, with the age beside it: `Lastro; hit; ttl=376; age=24`.
  public var description: String { member + (age.map { "; age=\($0)" } ?? "") }

  /// As a member of `Cache-Status`: `Lastro; hit; ttl=376`.
  public var member: String {
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
  /// The name of its note.
  static let noteName = "cache"

  var note: TransferFacts.Note { TransferFacts.Note(Self.noteName, detail: outcome.rawValue, text: description) }

  /// Reads a note that ``note`` made.
  init?(_ note: TransferFacts.Note) {
    guard note.name == Self.noteName, let outcome = Outcome(rawValue: note.detail) else { return nil }
    self.init(outcome)
    for part in note.text.split(separator: ";").map({ $0.drop { $0 == " " } }) {
      let sides = part.split(separator: "=", maxSplits: 1).map(String.init)
      let value = sides.count == 2 ? sides[1] : ""
      switch sides.first {
      case "fwd": forwardReason = ForwardReason(rawValue: value)
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
  /// What the cache did; `nil` where the stack has none.
  public var cache: CacheReport? { notes.lazy.compactMap(CacheReport.init).first }
}
