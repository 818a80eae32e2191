// SPDX-License-Identifier: Apache-2.0

/// A server's answer to a question.
package enum DNSResponse: Sendable, Hashable {
  /// The addresses of the name or of its alias, and their lifetime in seconds.
  case addresses([IPAddress], timeToLive: UInt32)
  /// The services of the name or of its alias (RFC 2782), and their lifetime in seconds.
  case services([DNSService], timeToLive: UInt32)
  /// The name has no record of the type, or does not exist. The lifetime in seconds is `nil` if the server does not
  /// state it (RFC 2308).
  case none(exists: Bool, timeToLive: UInt32?)
  /// The server reports an error code (RFC 1035 §4.1.1, RFC 6891 §6.1.3), such as 2, SERVFAIL.
  case failure(code: UInt16)
  /// The response does not fit. Ask again over another transport.
  case truncated

  /// Returns the number of an error code, and its name if it has one.
  package static func word(ofCode code: UInt16) -> String {
    switch code {
    case 1: "1, FORMERR"
    case 2: "2, SERVFAIL"
    case 4: "4, NOTIMP"
    case 5: "5, REFUSED"
    case 16: "16, BADVERS"
    default: "\(code)"
    }
  }
}

/// A server of a service (RFC 2782).
package struct DNSService: Sendable, Hashable {
  /// Servers with a higher number are used only if those with lower numbers cannot be reached.
  package let priority: UInt16
  /// The share of requests among servers with the same priority; 0 for very little.
  package let weight: UInt16
  package let port: UInt16
  /// The name of the server in lower case, without a final dot; empty if the service is not available.
  package let target: String

  package init(priority: UInt16, weight: UInt16, port: UInt16, target: String) {
    self.priority = priority
    self.weight = weight
    self.port = port
    self.target = target
  }
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
  /// The target of a service has a dot within a label, or bytes that are not visible ASCII.
  case target = "the name of a server in it cannot be a host"
  case longChain = "the name is behind more than 8 aliases"
}
