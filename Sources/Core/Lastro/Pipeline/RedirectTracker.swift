// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The redirects of one attempt: decides which responses are followed, to which URL, and with which credentials (RFC
/// 9110 §15.4, Fetch §4.4).
struct RedirectTracker {
  private struct Visit: Hashable {
    var method: String
    var url: String
  }

  /// The URLs of the redirects, in order.
  private(set) var urls: [String] = []
  /// The notes about the transfers that were redirected.
  var notes: [TransferFacts.Note] = []
  /// Whether the request has left an origin. From then on, credentials are removed for the rest of the attempt.
  private(set) var hasLeftOrigin = false
  private var visited: Set<Visit> = []
  /// The fields that any request of the attempt declared as secret.
  private var declared: Set<HTTPField.Name> = []
  private var fragment: String?

  /// The number of redirects followed.
  var hops: Int { urls.count }

  /// Returns the URL of a request, with the fragment of the redirect that led to it.
  func url(ofRequestTo asked: String) -> String {
    // If an interceptor rewrote the request, the fragment does not apply, because it was for another URL.
    guard let last = urls.last, let fragment, last == asked + "#" + fragment else { return asked }
    return last
  }

  /// Returns the request for a redirect; `nil` if the response is not a redirect to follow.
  ///
  /// - Parameter changesCookies: whether the response changed the cookies to send. A URL that was visited before may
  ///   then respond differently.
  /// - Throws: an error with stage `redirect` if the redirect may not be followed.
  mutating func next(
    after head: HTTPResponse, to request: ResourceRequest, policy: RedirectPolicy, changesCookies: Bool = false
  ) throws(TransportError) -> ResourceRequest? {
    guard policy.limit > 0, head.isRedirect else { return nil }
    let locations = head.headerFields[values: .location]
    guard let location = locations.first else { return nil }
    guard locations.count == 1 else {
      throw Self.refusal(
        .invalidRedirect, "the redirect has \(locations.count) Location header fields, and may have one")
    }
    guard hops < policy.limit else {
      throw Self.refusal(
        .tooManyRedirects, "the server redirects more often than the limit of \(policy.limit) allows",
        hint: "raise RedirectPolicy's limit if that is right")
    }
    let base: RequestTarget
    let target: RedirectTarget
    do throws(TransportError) {
      base = try RequestTarget(request.url)
      target = try RedirectTarget(location, base: base, fragment: fragment)
    } catch {
      throw Self.refusal(
        .invalidRedirect, "the server redirects to a location that cannot be followed: \(error.message)")
    }
    if base.scheme == "https", target.target.scheme == "http", !policy.allowsInsecure {
      throw Self.refusal(
        .insecureRedirect, "the server redirects from https to http, to \(target.target.authority)",
        hint: "set RedirectPolicy.follow(allowsInsecure: true) to allow it")
    }
    visited = changesCookies ? [] : visited.union([Visit(method: request.head.method.rawValue, url: base.absolute)])
    let next = try rewritten(request, status: head.status.code, target: target, from: base)
    guard visited.insert(Visit(method: next.head.method.rawValue, url: target.urlWithoutFragment)).inserted else {
      throw Self.refusal(
        .redirectLoop, "redirect \(hops + 1) leads back to \(target.target.authority)\(target.target.path)",
        hint: "the server's owner has to fix it; the server may expect a cookie or credentials")
    }
    fragment = target.fragment
    urls.append(target.url)
    return next
  }

  /// Removes credentials that an interceptor added to a request that has left its origin, unless the interceptor has
  /// credentials for the new origin. Call this only once ``hasLeftOrigin`` is `true`.
  ///
  /// - Parameters:
  ///   - adapted: the request that the interceptor returned.
  ///   - previous: the request that the interceptor received; `nil` if it received a failure.
  ///   - trusted: the origins that the interceptor has credentials for.
  mutating func guarding(_ adapted: ResourceRequest, previous: ResourceRequest?, trusted: [Origin]) -> ResourceRequest {
    declared.formUnion(adapted.options.sensitiveHeaders)
    let origin = Origin(adapted.head)
    if let origin, trusted.contains(origin) { return adapted }
    var result = adapted
    let keepsOrigin = origin != nil && origin == previous.flatMap { Origin($0.head) }
    for name in declared.union(adapted.fieldsBoundToOrigin).union(previous?.fieldsBoundToOrigin ?? []) {
      result.head.headerFields[values: name] = keepsOrigin ? previous?.head.headerFields[values: name] ?? [] : []
    }
    result.options.connection?.tls.identity = keepsOrigin ? previous?.options.connection?.tls.identity : nil
    return result
  }

  private mutating func rewritten(
    _ request: ResourceRequest, status: Int, target: RedirectTarget, from base: RequestTarget
  ) throws(TransportError) -> ResourceRequest {
    var next = request
    if !next.options.notes.isEmpty { next.options.notes = [] }
    next.head.scheme = target.target.scheme
    next.head.authority = target.target.authority
    next.head.path = target.target.pathAndQuery
    let method = request.head.method
    if status == 303 && method != .head || (status == 301 || status == 302) && method == .post {
      next.head.method = .get
      next.body = .empty
      for field in request.head.headerFields where Self.describesBody(field.name) {
        next.head.headerFields[field.name] = nil
      }
    } else if !request.body.isReplayable {
      throw Self.refusal(
        .redirectBodyNotReplayable, "the server redirects a \(method.rawValue) whose body cannot be sent again",
        hint: "give a replayable body: bytes, a file, or a sequence that can be opened again")
    }
    declared.formUnion(request.options.sensitiveHeaders)
    // A `Host` field set by the application would name the old authority.
    if let host = HTTPField.Name("Host") { next.head.headerFields[host] = nil }
    if (target.target.scheme, target.target.authority) != (base.scheme, base.authority) { hasLeftOrigin = true }
    if hasLeftOrigin {
      for name in declared.union(request.fieldsBoundToOrigin) { next.head.headerFields[name] = nil }
      next.options.connection?.tls.identity = nil
    }
    return next
  }

  private static func describesBody(_ name: HTTPField.Name) -> Bool {
    let name = name.canonicalName
    return name.hasPrefix("content-")
      || ["transfer-encoding", "digest", "repr-digest", "trailer", "expect"].contains(name)
  }

  private static func refusal(_ code: FailureCode, _ message: String, hint: String? = nil) -> TransportError {
    let hint = hint ?? "report it to the server's owner"
    return TransportError(stage: .redirect, code: code, message: message, hint: hint, requestSent: true)
  }
}
