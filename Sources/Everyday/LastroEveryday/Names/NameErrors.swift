// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

extension TransportError {
  static func notAnAddress(_ text: String) -> Self {
    Self(
      stage: .resolve, code: .invalidOption,
      message: "a resolver returned \"\(text.prefix(100).escapedForDisplay)\", which is not an IP address",
      hint: "let it return addresses such as 192.0.2.1 or 2001:db8::1")
  }

  /// - Parameter reason: the system's error text.
  static func lookUpFailed(_ name: HostName, _ reason: String, _ code: Int32) -> Self {
    Self(
      stage: .resolve, code: .hostNotFound, message: "the system cannot resolve \(name): \(reason)",
      hint: "check the name, and DNS on this machine", engineCode: code)
  }

  static func tooManyLookUps(_ limit: Int) -> Self {
    Self(
      stage: .limit, code: .queueFull, message: "\(limit) requests already wait for the system to resolve names",
      hint: "ask for fewer at once, or keep answers with CachingResolver")
  }

  /// - Parameters:
  ///   - reason: a clause whose subject is the server.
  ///   - hint: the hint. Default: advice for a server that responds incorrectly.
  static func noAnswer(to name: HostName, by server: Origin, _ reason: String, hint: String? = nil) -> Self {
    Self(
      stage: .resolve, code: .hostNotFound, message: "\(server) does not return the addresses of \(name): \(reason)",
      hint: hint ?? "check the URL of the server, or give the resolver a second one")
  }

  static func wrongResponse(to name: HostName, by server: Origin, _ violation: DNSViolation) -> Self {
    noAnswer(to: name, by: server, "its response is invalid: \(violation.rawValue)")
  }

  /// - Parameter reason: a clause whose subject is the server.
  static func noAnswer(to name: String, by server: MemberAddress, _ reason: String) -> Self {
    Self(
      stage: .resolve, code: .hostNotFound,
      message: "the DNS server \(server) does not answer the question for \(name.escapedForDisplay): \(reason)",
      hint: "check the name, and the servers in /etc/resolv.conf")
  }

  static let endsEarly = Self(
    stage: .resolve, code: .hostNotFound, message: "the DNS server has closed the connection before its response ended",
    hint: "check the server, or ask another one")

  static func ownServer(_ name: HostName) -> Self {
    Self(
      stage: .resolve, code: .invalidOption,
      message: "a resolver over HTTPS was asked for \(name), which is the name of its own server",
      hint: "give its stack another resolver, or the address by ConnectionOptions.resolve(_:port:to:)")
  }

  static func tooManyNames(_ limit: Int) -> Self {
    Self(
      stage: .limit, code: .queueFull, message: "\(limit) names are being looked up already",
      hint: "ask for fewer at once, or keep answers with CachingResolver")
  }

  static let noThreadForNames = Self(
    stage: .resolve, code: .engineFailure, message: "the system cannot start a thread to look up a name",
    hint: "raise `ulimit -u`, or the memory of the process")
}
