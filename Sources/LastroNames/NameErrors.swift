// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension TransportError {
  static func notAnAddress(_ text: String) -> Self {
    Self(
      stage: .resolve, code: .invalidOption,
      message: "a resolver gave \(String(text.prefix(100)).onOneLine), which is not an IP address",
      hint: "have it give addresses as in 192.0.2.1 or 2001:db8::1")
  }

  /// - Parameter reason: the system's.
  static func lookUpFailed(_ name: HostName, _ reason: String, _ code: Int32) -> Self {
    Self(
      stage: .resolve, code: .hostNotFound, message: "the system cannot resolve \(name): \(reason)",
      hint: "check the name, and DNS on this machine", engineCode: code)
  }

  static func tooManyLookUps(_ limit: Int) -> Self {
    Self(
      stage: .limit, code: .queueFull, message: "\(limit) requests wait for the system to resolve names already",
      hint: "ask for fewer at once, or keep answers with CachingResolver")
  }

  static let noThreadForNames = Self(
    stage: .resolve, code: .engineFailure, message: "the system starts no thread to look a name up",
    hint: "raise `ulimit -u`, or the memory of the process")
}
