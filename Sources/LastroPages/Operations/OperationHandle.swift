// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro

/// An operation that a server works on: where its state is asked for, to be kept beyond the process.
///
/// It has URLs as the server gave them, and no credentials beside what stands in those.
public struct OperationHandle: Sendable, Hashable, Codable {
  /// Where the state is asked for.
  public let statusURL: String
  /// Where the result is, once it is done, if that is elsewhere: the URL that was put or patched, or the `Location` of
  /// another method. `nil` where the status URL has the result itself.
  public let resultURL: String?
  /// How long the server asks to wait before the first question, in seconds; `nil` where it does not say.
  public let firstWait: Int64?
  /// When the server accepted it, by the clock of the machine that asked, since 1970; `nil` where it is not known.
  /// ``firstWait`` counts from there, and so does ``OperationOptions/grace``; else from the beginning of the wait.
  public let acceptedAt: Duration?

  /// Makes a handle of a status URL that is known.
  ///
  /// - Parameters:
  ///   - statusURL: absolute.
  ///   - resultURL: where the result is. Default: at the status URL.
  ///   - firstWait: in seconds. Default: `nil`.
  ///   - acceptedAt: since 1970. Default: `nil`.
  public init(statusURL: String, resultURL: String? = nil, firstWait: Int64? = nil, acceptedAt: Duration? = nil) {
    self.statusURL = statusURL
    self.resultURL = resultURL
    self.firstWait = firstWait
    self.acceptedAt = acceptedAt
  }

  /// The handle that an answer gives.
  ///
  /// `Operation-Location` and `Azure-AsyncOperation` name a status that is not the result; `Location` of a 202 both
  /// (RFC 9110 §15.3.3).
  init(
    _ response: ResourceResponse, to request: HTTPRequest, _ origins: Set<Origin>, sinceEpoch: @Sendable () -> Duration
  ) throws(TransportError) {
    let fields = RawHeaders(response.headerFields)
    let location = fields["Location"]
    guard let status = fields["Operation-Location"] ?? fields["Azure-AsyncOperation"] ?? location else {
      throw .accepted(
        .noOperation, "the server answered \(response.status.code) and names no status to ask for",
        hint: "fetch the request as any other: what follows on it is not told")
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
        .invalidURL, "the server names an operation by what is not an http or https URL",
        hint: "report it to the server's owner")
    }
    guard origin == own || origins.contains(origin) && (own.scheme != "https" || origin.scheme == "https") else {
      throw .accepted(
        .foreignOperation, "the server at \(own) accepted the request, and names an operation at \(origin)",
        hint: """
          name that origin in OperationOptions.origins if it may have the credentials, never from https to http; \
          the operation goes on, and an OperationHandle made of the error's response waits for it
          """)
    }
    return target.urlWithoutFragment
  }
}

extension FailureCode {
  /// An operation is at another origin than its request was sent to, which was not declared.
  public static let foreignOperation = Self("foreign_operation")
  /// An answer that should name an operation names none.
  public static let noOperation = Self("no_operation")
}
