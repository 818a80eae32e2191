// SPDX-License-Identifier: Apache-2.0

/// What a server says to a question.
package enum DNSResponse: Sendable, Hashable {
  /// The addresses, of the name or of that which it is an alias of, and for how many seconds.
  case addresses([IPAddress], timeToLive: UInt32)
  /// The name has none of the family, or is not there; for how many seconds, where the server says so (RFC 2308).
  case none(exists: Bool, timeToLive: UInt32?)
  /// The server's code for why it does not say (RFC 1035 §4.1.1, RFC 6891 §6.1.3), such as 2, SERVFAIL.
  case failure(code: UInt16)
  /// It does not fit: to be asked over another transport.
  case truncated
}

/// Why a message is no response to a question.
package enum DNSViolation: String, Error, Sendable, Hashable, CaseIterable {
  case truncatedMessage = "it ends too soon"
  case tooLong = "it is longer than 65535 bytes"
  case trailingBytes = "bytes follow its end"
  case otherID = "it answers another query"
  case noResponse = "it does not respond to a query"
  /// Not the question that was asked, byte by byte.
  case otherQuestion = "it answers another question"
  case tooManyRecords = "it has more than 512 records"
  case longName = "a name in it is longer than 255 bytes"
  /// A label of a type that is not in use (RFC 6891 §5).
  case labelType = "a name in it has a label of an unknown type"
  /// One that does not lead backwards, or one of too many.
  case pointer = "a name in it leads astray"
  /// An address or a name that does not fill its record.
  case recordLength = "a record in it has another length than what it holds"
  case longChain = "the name is an alias of an alias, more than 8 times"
}
