// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
import Lastro
import LastroWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension CachingTransport {
  /// A request that goes past the cache.
  func bypass(_ request: TransferRequest, _ asked: CacheRequest) async throws(TransportError) -> TransferResponse {
    guard asked.mayForward else { return unavailable }
    var report = CacheReport(.bypassed)
    report.forwardReason = .bypass
    return noted(try await base.execute(request), report)
  }

  /// A request that may change what is stored (RFC 9111 §4.4).
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

  /// The URL of a request, and those of the same origin that its answer names.
  static func changed(by request: TransferRequest, _ response: TransferResponse) -> [String] {
    guard let url = request.url, let base = try? RequestTarget(url) else { return [] }
    let others = CacheInvalidation.references(CacheFields(response.head.headerFields)).compactMap { reference in
      try? RedirectTarget(reference, base: base, fragment: nil).target
    }
    return [url] + others.filter { $0.scheme == base.scheme && $0.authority == base.authority }.map(\.url)
  }

  /// What a request gets for which the server must not be asked (RFC 9111 §5.2.1.7).
  var unavailable: TransferResponse {
    noted(
      TransferResponse(head: HTTPResponse(status: .gatewayTimeout), body: ResponseBody(Data())),
      CacheReport(.bypassed))
  }

  /// With what the cache did, for the ledger, and for the caller where the policy says so.
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
  /// The URL as it is sent; `nil` where it has none.
  var url: String? {
    guard let scheme = head.scheme, let authority = head.authority else { return nil }
    return "\(scheme)://\(authority)\(head.path ?? "/")"
  }

  /// The request with what is left of its deadline.
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

extension RequestTarget {
  /// As a text, without a fragment.
  var url: String { "\(scheme)://\(authority)\(pathAndQuery)" }
}

extension HTTPField.Name {
  // Forced: letters and a hyphen are a field name (RFC 9110 §5.6.2), and no other name could stand in.
  // swift-format-ignore: NeverForceUnwrap
  fileprivate static let cacheStatus = HTTPField.Name("Cache-Status")!
}
