// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import HTTPTypes
import Lastro
import LastroWire

extension CachingTransport {
  /// Sends a request that skips the cache.
  func bypass(_ request: TransferRequest, _ asked: CacheRequest) async throws(TransportError) -> TransferResponse {
    guard asked.mayForward else { return unavailable }
    var report = CacheReport(.bypassed)
    report.forwardReason = .bypass
    return noted(try await base.execute(request), report)
  }

  /// Sends a request that may change what is stored (RFC 9111 §4.4), and invalidates stored responses if it does.
  func change(_ request: TransferRequest, _ asked: CacheRequest) async throws(TransportError) -> TransferResponse {
    guard asked.mayForward else { return unavailable }
    let start = time.now()
    let response = try await base.execute(request)
    var report = CacheReport(.bypassed)
    report.forwardReason = .method
    report.forwardStatus = response.head.status.code
    if CacheInvalidation.isCaused(byMethod: asked.method, status: response.head.status.code) {
      await cache.forget(
        Self.changed(by: request, response),
        StoreVisit(cache.access, time: time, start: start, deadline: request.deadline))
    }
    return noted(response, report)
  }

  /// Returns the URL of a request, and the URLs of the same origin that its response refers to.
  static func changed(by request: TransferRequest, _ response: TransferResponse) -> [String] {
    guard let url = request.url, let base = try? RequestTarget(url) else { return [] }
    let others = CacheInvalidation.references(CacheFields(response.head.headerFields)).compactMap { reference in
      try? RedirectTarget(reference, base: base, fragment: nil).target
    }
    return [url] + others.filter { $0.scheme == base.scheme && $0.authority == base.authority }.map(\.absolute)
  }

  /// The 504 response for a request that must not be forwarded (RFC 9111 §5.2.1.7).
  var unavailable: TransferResponse {
    noted(
      TransferResponse(head: HTTPResponse(status: .gatewayTimeout), body: ResponseBody(Data())),
      CacheReport(.bypassed))
  }

  /// Adds the cache's report to the facts, and to the fields if the policy says so.
  func noted(_ response: TransferResponse, _ report: CacheReport) -> TransferResponse {
    var response = response
    response.facts.notes.append(report.note)
    if cache.policy.addsCacheStatus {
      response.head.headerFields.append(HTTPField(name: .cacheStatus, value: report.member))
    }
    return response
  }
}

extension TransferRequest {
  /// The URL as it is sent; `nil` if the request has none.
  var url: String? {
    guard let scheme = head.scheme, let authority = head.authority else { return nil }
    return "\(scheme)://\(authority)\(head.path ?? "/")"
  }

  /// Returns the request with the time that remains of its deadline.
  func remaining(after waited: Duration) throws(TransportError) -> TransferRequest {
    guard waited > .zero, let deadline else { return self }
    guard deadline > waited else { throw deadlinePassed() }
    var request = self
    request.deadline = deadline - waited
    return request
  }

  func deadlinePassed(_ place: String = "while waiting for the cache") -> TransportError {
    .deadlinePassed(deadlineCode, of: wholeTimeout ?? deadline, place, requestSent: false)
  }
}

extension HTTPField.Name {
  // Force-unwrapped: letters and a hyphen form a valid field name (RFC 9110 §5.6.2), and no fallback name would do.
  // swift-format-ignore: NeverForceUnwrap
  fileprivate static let cacheStatus = HTTPField.Name("Cache-Status")!
}
