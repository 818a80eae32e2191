// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport
public import Logging

extension FetchObserver where Self == DeprecationObserver {
  /// Returns an observer that reports deprecated resources; see ``DeprecationObserver``.
  ///
  /// - Parameters:
  ///   - logger: the logger that gets a warning; `nil` logs nothing.
  ///   - report: gets each notice, on the task of the call. Default: does nothing.
  public static func deprecations(
    _ logger: Logger?, report: @escaping @Sendable (DeprecationNotice) -> Void = { _ in }
  ) -> Self {
    Self(logger, report: report)
  }
}

/// Reports resources that their server has announced as deprecated: one line a day for each in the log.
///
/// ```swift
/// configuration.observers.append(.deprecations(logger))
/// ```
///
/// A resource is an operation (`RequestOptions.operation`), or a method and URL without the query. At most 1,000 are
/// remembered; of more, a resource may be reported again on the same day. A test can fail on a deprecated resource by
/// recording an issue in `report`.
public final class DeprecationObserver: FetchObserver {
  private static let day = Duration.seconds(24 * 3600)
  private static let maximumResources = 1000

  private let logger: Logger?
  private let report: @Sendable (DeprecationNotice) -> Void
  /// The times of the latest reports, by resource.
  private let reported = Lock<[String: Duration]>([:])

  init(_ logger: Logger?, report: @escaping @Sendable (DeprecationNotice) -> Void) {
    self.logger = logger
    self.report = report
  }

  /// Reads the response of a call that ended. It takes a lock only for a response with a notice.
  public func observe(_ event: FetchEvent) {
    guard case .callEnded(let result) = event.kind else { return }
    let response: ResourceResponse? =
      switch result {
      case .success(let response): response
      case .failure(let error): error.response
      }
    guard let response, var notice = DeprecationNotice(response) else { return }
    notice.operation = event.operation
    let resource = event.operation ?? notice.request.map { String($0.prefix { $0 != "?" }) } ?? ""
    guard mark(resource, event.time) else { return }
    logger?.warning("a resource is deprecated", metadata: ["notice": "\(notice)"])
    report(notice)
  }

  /// Returns whether a resource is to be reported now, and remembers that it was.
  private func mark(_ resource: String, _ time: Duration) -> Bool {
    reported.withLock { reported in
      if let last = reported[resource], time - last < Self.day { return false }
      if reported.count >= Self.maximumResources { reported = reported.filter { time - $0.value < Self.day } }
      if reported.count >= Self.maximumResources { reported.removeAll() }
      reported[resource] = time
      return true
    }
  }
}
