// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension ResourceRequest {
  /// Sets a header field to a secret, replacing all its values.
  ///
  /// The name is added to ``RequestOptions/sensitiveHeaders``, so that the field is not sent to other origins. The
  /// secret is added to ``RequestOptions/secrets``.
  ///
  /// - Parameters:
  ///   - name: the name, such as `Authorization` or `X-Api-Key`.
  ///   - secret: the value.
  ///   - prefix: the part before the secret that is not secret, such as `"Bearer "`. Default none.
  /// - Throws: an error with stage `request` and code `invalid_header` if the name or the value is not allowed (RFC
  ///   9110 §5.1, §5.5). In that case nothing is changed, and the error does not include the value.
  public mutating func setHeader(_ name: String, _ secret: Secret, prefix: String = "") throws(TransportError) {
    let field = try HTTPField(checkedName: name, value: prefix + secret.reveal())
    head.headerFields[fields: field.name] = [field]
    options.sensitiveHeaders.insert(field.name)
    options.secrets.insert(secret)
  }

  /// Adds an item with a secret value to the end of the query.
  ///
  /// The name and the value are percent-encoded in the same way as by ``HTTPResourceEndpoint``. The name is added to
  /// ``RequestOptions/sensitiveQueryItems``, and the secret to ``RequestOptions/secrets``. Prefer a header field if the
  /// API accepts one: servers and proxies log URLs.
  ///
  /// - Throws: an error with stage `request` if the URL of the request is not valid.
  public mutating func appendQueryItem(_ name: String, _ secret: Secret) throws(TransportError) {
    var target = try RequestTarget(url)
    target.append(queryItems: [(name, secret.reveal())])
    head.path = target.pathAndQuery
    options.sensitiveQueryItems.insert(name)
    options.secrets.insert(secret)
  }

  /// Adds a secret as the last segment of the path, before the query.
  ///
  /// The secret is encoded like `String.pathSegment`, and is added to ``RequestOptions/secrets``. To put a secret in
  /// the middle of a path, insert ``Secret/reveal()`` yourself and add the secret to ``RequestOptions/secrets``.
  ///
  /// - Throws: an error with stage `request` if the URL of the request is not valid, and with code `invalid_url` for an
  ///   empty secret and for the segments `.` and `..`.
  public mutating func appendPathSegment(_ secret: Secret) throws(TransportError) {
    guard !["", ".", ".."].contains(secret.reveal()) else {
      throw .invalidURL(
        "the secret for the path is \(secret.isEmpty ? "empty" : "a dot segment")",
        hint: "give one that is not empty, \".\" or \"..\"")
    }
    var target = try RequestTarget(url)
    target.append(path: secret.reveal().pathSegment)
    head.path = target.pathAndQuery
    options.secrets.insert(secret)
  }
}

extension ResourceRequest {
  /// Adds the secrets of the body and the connection to ``RequestOptions/secrets``. Redirects keep the options, but not
  /// always the body and the client certificate, and a server may repeat secrets that it received before.
  mutating func nameCarriedSecrets() {
    if !body.secrets.isEmpty { options.secrets.formUnion(body.secrets) }
    if let connection = options.connection?.secrets, !connection.isEmpty { options.secrets.formUnion(connection) }
  }
}

extension ResourceRequest {
  /// The names of the fields that must not be sent to another origin: those with a credential, and those that describe
  /// the relation to the current origin.
  package var fieldsBoundToOrigin: Set<HTTPField.Name> {
    let redaction = Redaction.standard.adding(self)
    return Set(
      head.headerFields.lazy
        .filter { $0.name == .origin || $0.name == .wwwAuthenticate || redaction.isCredential($0) }.map(\.name))
  }
}
