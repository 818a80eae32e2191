// SPDX-License-Identifier: Apache-2.0

extension TransferFacts {
  /// Whether a cache responded without sending a request of this transfer. In the cache's note, `fwd` gives the reason
  /// for a request to the server, and `collapsed` means that the request was sent for another transfer (RFC 9211 §2).
  package var isFromCache: Bool {
    notes.contains { $0.name == "cache" && (!$0.text.contains("fwd=") || $0.text.contains("; collapsed")) }
  }

  /// A note of a layer around the transport about its effect on a transfer. The ledger includes it in the line of the
  /// attempt.
  public struct Note: Sendable, Hashable, Encodable {
    enum CodingKeys: String, CodingKey { case name, detail, text, wait = "wait_s", inUse = "in_use", limit }

    /// The effect as a stable identifier with few distinct values, such as `paced`.
    public let name: String
    /// A further identifier of this kind, such as the new state of a circuit. Default: empty.
    public let detail: String
    /// The text for people, without secrets. Default: empty; the ledger's description then omits the note.
    public let text: String
    /// The time that the transfer waited for the layer, if it did.
    public let wait: Duration?
    /// The number of concurrent transfers and its limit, if the layer limits them.
    public let bound: Bound?

    /// A limit on concurrent transfers, and the number in use.
    public struct Bound: Sendable, Hashable {
      /// The number of concurrent transfers.
      public let inUse: Int
      /// The maximum number of concurrent transfers.
      public let limit: Int

      /// Makes a bound.
      public init(inUse: Int, limit: Int) { (self.inUse, self.limit) = (inUse, limit) }
    }

    /// Makes a note.
    public init(_ name: String, detail: String = "", text: String = "", wait: Duration? = nil, bound: Bound? = nil) {
      (self.name, self.detail, self.text, self.wait, self.bound) = (name, detail, text, wait, bound)
    }

    /// Encodes the note. Times are in seconds, with names that end in `_s`; unknown values are omitted.
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
