// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Lastro

/// A rule that decides which requests share a circuit, a limit, a pace or a latency.
package struct ResilienceKeyRule: Sendable {
  let part: @Sendable (TransferRequest) -> String

  /// A rule with one key per origin.
  package static let origin = Self { _ in "" }

  /// A rule with one key per origin and value of `Authorization`, because quotas often apply per credential. The key
  /// contains only a hash with a seed of this process.
  package static let originAndCredentials = Self { request in
    // Iterate over the fields: a look-up by name would build an index.
    guard let credentials = request.head.headerFields.first(where: { $0.name == .authorization })?.value else {
      return ""
    }
    var hasher = Hasher()
    hasher.combine(credentials)
    return "credentials \(UInt(bitPattern: hasher.finalize()))"
  }

  /// Creates a rule.
  ///
  /// - Parameter part: returns the text that distinguishes requests to one origin.
  package init(part: @escaping @Sendable (TransferRequest) -> String) { self.part = part }

  /// Returns the rule of a program's closure, or the standard rule if the program passes none.
  static func of(_ part: (@Sendable (TransferRequest) -> String)?, standard: Self = .origin) -> Self {
    Self(part: part ?? standard.part)
  }

  /// Returns the key of a request; `nil` if the request has no `http` or `https` URL.
  func key(of request: TransferRequest) -> ResilienceKey? { key(of: request, to: Origin(request.head)) }

  /// - Parameter origin: the origin of the request, which the caller reads once for all parts.
  func key(of request: TransferRequest, to origin: Origin?) -> ResilienceKey? {
    origin.map { ResilienceKey($0, part: part(request)) }
  }
}
