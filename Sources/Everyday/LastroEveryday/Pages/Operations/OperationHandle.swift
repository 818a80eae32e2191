// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro

/// A handle for an operation on a server: the URLs of its state and its result. It can be stored beyond the process.
///
/// The handle contains URLs as the server gave them, and no credentials other than those in the URLs.
public struct OperationHandle: Sendable, Hashable, Codable {
  /// The URL of the operation's state.
  public let statusURL: String
  /// The URL of the result, once the operation is done, if it differs from the status URL: the URL that was put or
  /// patched, or the `Location` for another method. `nil` if the status URL returns the result.
  public let resultURL: String?
  /// The time that the server asks to wait before the first poll, in seconds; `nil` if it does not say.
  package let firstWait: Int64?
  /// The time at which the server accepted the request, since 1970, by this machine's clock at that time; `nil` if it
  /// is unknown. ``firstWait``, and the two seconds in which a 404 is no failure, count from this time, or otherwise
  /// from the beginning of the wait.
  package let acceptedAt: Duration?

  /// Creates a handle for a known status URL.
  ///
  /// - Parameters:
  ///   - statusURL: the absolute URL of the state.
  ///   - resultURL: the URL of the result. Default: the status URL.
  public init(statusURL: String, resultURL: String? = nil) {
    self.init(statusURL: statusURL, resultURL: resultURL, firstWait: nil, acceptedAt: nil)
  }

  /// Creates a handle from stored values.
  package init(statusURL: String, resultURL: String? = nil, firstWait: Int64?, acceptedAt: Duration?) {
    self.statusURL = statusURL
    self.resultURL = resultURL
    self.firstWait = firstWait
    self.acceptedAt = acceptedAt
  }

  /// Creates the handle from a response.
  ///
  /// `Operation-Location` and `Azure-AsyncOperation` name a status that is separate from the result. The `Location` of
  /// a 202 names both (RFC 9110 §15.3.3).
  init(
    _ response: ResourceResponse, to request: HTTPRequest, _ origins: Set<Origin>, sinceEpoch: @Sendable () -> Duration
  ) throws(TransportError) {
    let fields = RawHeaders(response.headerFields)
    let location = fields["Location"]
    guard let status = fields["Operation-Location"] ?? fields["Azure-AsyncOperation"] ?? location else {
      throw .accepted(
        .noOperation, "the server answered \(response.status.code) without the URL of a status",
        hint: "fetch the request as any other: the server does not report its progress")
    }
    let isMonitor = status != location
    statusURL = try Self.target(status, response, request, origins)
    switch request.method {
    case _ where !isMonitor: resultURL = nil
    case .put, .patch: resultURL = try Self.target(response.url, response, request, origins)
    default:
      resultURL = try location.map { (location) throws(TransportError) in
        try Self.target(location, response, request, origins)
      }
    }
    firstWait = RetryAfter.wait(response.headerFields, sinceEpoch: sinceEpoch)?.components.seconds
    acceptedAt = sinceEpoch()
  }

  private static func target(
    _ reference: String, _ response: ResourceResponse, _ request: HTTPRequest, _ origins: Set<Origin>
  ) throws(TransportError) -> String {
    guard let target = PageLink.resolved(reference, against: response.url),
      let origin = try? Origin(target.urlWithoutFragment), let own = Origin(request)
    else {
      throw .accepted(
        .invalidURL, "the server names an operation by a URL that is not http or https",
        hint: "report it to the server's owner")
    }
    guard origin == own || origins.contains(origin) && (own.scheme != "https" || origin.scheme == "https") else {
      throw .accepted(
        .foreignOperation, "the server at \(own) accepted the request, and names an operation at \(origin)",
        hint: """
          name that origin in the parameter origins if it may have the credentials, never from https to http; \
          the operation continues, and an OperationHandle made from the error's response can wait for it
          """)
    }
    return target.urlWithoutFragment
  }
}

extension FailureCode {
  /// An operation is at another origin than its request, and the origin was not declared.
  public static let foreignOperation = Self("foreign_operation")
  /// A response that should name an operation names none.
  public static let noOperation = Self("no_operation")
}
