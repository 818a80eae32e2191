// SPDX-License-Identifier: Apache-2.0

/// A server's answer to a question.
package enum DNSResponse: Sendable, Hashable {
  /// The addresses of the name or of its alias, and their lifetime in seconds.
  case addresses([IPAddress], timeToLive: UInt32)
  /// The name has no address of the family, or does not exist. The lifetime in seconds is `nil` if the server does not
  /// state it (RFC 2308).
  case none(exists: Bool, timeToLive: UInt32?)
  /// The server reports an error code (RFC 1035 §4.1.1, RFC 6891 §6.1.3), such as 2, SERVFAIL.
  case failure(code: UInt16)
  /// The response does not fit. Ask again over another transport.
  case truncated
}

/// The reason why a message is not a response to a question.
package enum DNSViolation: String, Error, Sendable, Hashable, CaseIterable {
  case truncatedMessage = "it is incomplete"
  case tooLong = "it is longer than 65535 bytes"
  case trailingBytes = "bytes follow its end"
  case otherID = "it answers another query"
  case noResponse = "it does not respond to a query"
  /// The question differs from the one that was sent, byte by byte.
  case otherQuestion = "it answers another question"
  case tooManyRecords = "it has more than 512 records"
  case longName = "a name in it is longer than 255 bytes"
  /// A label has a type that is not in use (RFC 6891 §5).
  case labelType = "a name in it has a label of an unknown type"
  /// A compression pointer does not point backwards, or there are too many of them.
  case pointer = "a name in it has an invalid compression pointer"
  /// An address or a name does not fill its record.
  case recordLength = "a record in it has a length that differs from its content"
  case longChain = "the name is behind more than 8 aliases"
}
