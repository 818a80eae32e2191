// SPDX-License-Identifier: Apache-2.0

extension TransferFacts {
  /// Whether a cache answered without a request of this transfer's: it names with `fwd` why it asked the server after
  /// all, and with `collapsed` that it was for another request (RFC 9211 §2).
  package var isFromCache: Bool {
    notes.contains { $0.name == "cache" && (!$0.text.contains("fwd=") || $0.text.contains("; collapsed")) }
  }

  /// What something around a transport did to a transfer: it stands in the ledger, in the line of its attempt.
  public struct Note: Sendable, Hashable, Encodable {
    enum CodingKeys: String, CodingKey { case name, detail, text, wait = "wait_s", inUse = "in_use", limit }

    /// What was done, as a stable word of few distinct values, such as `paced`.
    public let name: String
    /// A further such word, such as the new state of a circuit. Default: empty.
    public let detail: String
    /// For people, without secrets. Default: empty, and then the ledger's page leaves the note out.
    public let text: String
    /// How long the transfer waited for it, where it did.
    public let wait: Duration?
    /// How many transfers were under way, and how many may be, where it bounds them.
    public let bound: Bound?

    /// What a bound on transfers under way is, and how much of it is used.
    public struct Bound: Sendable, Hashable {
      /// Transfers under way.
      public let inUse: Int
      /// Transfers that may be.
      public let limit: Int

      /// Makes the numbers.
      public init(inUse: Int, limit: Int) { (self.inUse, self.limit) = (inUse, limit) }
    }

    /// Makes a note.
    public init(_ name: String, detail: String = "", text: String = "", wait: Duration? = nil, bound: Bound? = nil) {
      (self.name, self.detail, self.text, self.wait, self.bound) = (name, detail, text, wait, bound)
    }

    /// Times in seconds, by names with `_s`; what is not known is left out.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      if !detail.isEmpty { try container.encode(detail, forKey: .detail) }
      if !text.isEmpty { try container.encode(text, forKey: .text) }
      try container.encodeIfPresent(wait?.inRoundedSeconds, forKey: .wait)
      try container.encodeIfPresent(bound?.inUse, forKey: .inUse)
      try container.encodeIfPresent(bound?.limit, forKey: .limit)
    }
  }
}
