// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension ResourceRequest {
  /// Sets a header field to a secret, in place of all it had.
  ///
  /// The name joins ``RequestOptions/sensitiveHeaders``, so that the field does not cross origins; the secret joins
  /// ``RequestOptions/secrets``.
  ///
  /// - Parameters:
  ///   - name: such as `Authorization` or `X-Api-Key`.
  ///   - secret: the value.
  ///   - prefix: what stands before it and is no secret, such as `"Bearer "`. Default none.
  /// - Throws: stage `request`, code `invalid_header`, when name or value are not allowed (RFC 9110 §5.1, §5.5);
  ///   nothing has changed then, and the error does not tell the value.
  public mutating func setHeader(_ name: String, _ secret: Secret, prefix: String = "") throws(TransportError) {
    let field = try HTTPField(checkedName: name, value: prefix + secret.reveal())
    head.headerFields[fields: field.name] = [field]
    options.sensitiveHeaders.insert(field.name)
    options.secrets.insert(secret)
  }

  /// Adds an item with a secret value at the end of the query.
  ///
  /// Name and value are percent-encoded as ``HTTPResourceEndpoint`` does. The name joins
  /// ``RequestOptions/sensitiveQueryItems``, the secret ``RequestOptions/secrets``. Where an API takes a header field
  /// instead, prefer that: URLs are kept in the logs of servers and proxies.
  ///
  /// - Throws: stage `request`, when the request has no URL that may be fetched.
  public mutating func appendQueryItem(_ name: String, _ secret: Secret) throws(TransportError) {
    var target = try RequestTarget(url)
    target.append(queryItems: [(name, secret.reveal())])
    head.path = target.pathAndQuery
    options.sensitiveQueryItems.insert(name)
    options.secrets.insert(secret)
  }

  /// Adds a secret as the last segment of the path, before the query.
  ///
  /// It is encoded as `String.pathSegment` is, and joins ``RequestOptions/secrets``. For a secret inside a path, write
  /// it there with ``Secret/reveal()`` and put it into ``RequestOptions/secrets``.
  ///
  /// - Throws: stage `request`, when the request has no URL that may be fetched, and code `invalid_url` for an empty
  ///   secret and for the segments `.` and `..`.
  public mutating func appendPathSegment(_ secret: Secret) throws(TransportError) {
    guard !["", ".", ".."].contains(secret.reveal()) else {
      throw .invalidURL(
        "the secret for the path is \(secret.isEmpty ? "empty" : "a dot segment")",
        hint: "give one that is neither empty nor . nor ..")
    }
    var target = try RequestTarget(url)
    target.append(path: secret.reveal().pathSegment)
    head.path = target.pathAndQuery
    options.secrets.insert(secret)
  }
}
