// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The redirects of one attempt: which answers are followed, where to, and which credentials go along
/// (RFC 9110 §15.4, Fetch §4.4).
struct RedirectTracker {
  private struct Visit: Hashable {
    var method: String
    var url: String
  }

  /// URLs redirected to, in order.
  private(set) var urls: [String] = []
  /// What was noted of the transfers that were redirected.
  var notes: [TransferFacts.Note] = []
  /// Whether an origin was left; credentials then stay behind for the rest of the attempt.
  private(set) var hasLeftOrigin = false
  private var visited: Set<Visit> = []
  /// The fields that any request of the attempt declared as secret.
  private var declared: Set<HTTPField.Name> = []
  private var fragment: String?

  /// Number of redirects followed.
  var hops: Int { urls.count }

  /// The URL that a request asks for, with the fragment of the redirect that led to it.
  func url(ofRequestTo asked: String) -> String {
    // Not where an interceptor rewrote the request: the fragment was that of another place.
    guard let last = urls.last, let fragment, last == asked + "#" + fragment else { return asked }
    return last
  }

  /// The request that an answer redirects to; `nil` when the answer is the response.
  ///
  /// - Parameter changesCookies: whether it changed those that go along: a place may answer otherwise then.
  /// - Throws: stage `redirect` when it may not be followed.
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
        hint: "the server's owner has to mend it; it may wait for a cookie or credentials")
    }
    fragment = target.fragment
    urls.append(target.url)
    return next
  }

  /// Takes back the credentials that an interceptor put on a request that has left its origin, unless it is meant to.
  /// To be asked once ``hasLeftOrigin``.
  ///
  /// - Parameters:
  ///   - adapted: what the interceptor made.
  ///   - previous: what it got; `nil` when that was a failure.
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
        hint: "give a replayable body: bytes, a file, or a sequence that can be opened anew")
    }
    declared.formUnion(request.options.sensitiveHeaders)
    // A field of the application's own would name the old authority.
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
