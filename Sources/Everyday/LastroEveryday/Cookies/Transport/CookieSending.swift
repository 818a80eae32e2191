// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

/// The layer that adds cookies to requests.
struct CookieSending: TransportLayer {
  let jar: CookieJar

  package func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport {
    CookieSendingTransport(base: base, jar: jar)
  }
}

private struct CookieSendingTransport: Transport {
  let base: any Transport
  let jar: CookieJar

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    var request = request
    // Tell the cache which jar is used: a response that sets a cookie is for that jar only, even before it has cookies.
    if let jar = jar.used(by: request) { request.layerUses[.cookieSending] = CookieUse(use: .with(jar)) }
    guard let selection = selection(for: request, isUse: true), !selection.field.isEmpty else {
      return try await base.execute(request)
    }
    request.head.headerFields[fields: .cookie] = [HTTPField(name: .cookie, value: selection.field)]
    // Transports mask these values in logs as well. Values below 4 bytes are excluded: they occur in fields by chance,
    // which a cache would then take for credentials.
    request.secrets.formUnion(selection.cookies.map(\.value).filter { $0.reveal().utf8.count >= 4 })
    do throws(TransportError) {
      var response = try await base.execute(request)
      response.facts.notes.append(selection.note)
      return response
    } catch {
      var error = error
      error.facts?.notes.append(selection.note)
      throw error
    }
  }

  func explain(_ request: TransferRequest) -> [(name: String, value: String)] {
    base.explain(request) + [(name: "cookies", value: words(for: request))]
  }

  private func words(for request: TransferRequest) -> String {
    guard jar.used(by: request) != nil else { return "none for this request" }
    guard let selection = selection(for: request, isUse: false) else { return "those of the request itself" }
    return selection.cookies.isEmpty ? "no cookie is for this request" : selection.words(as: "sends")
  }

  /// Returns the cookies to send; `nil` for a request that must not be changed.
  private func selection(for request: TransferRequest, isUse: Bool) -> CookieFieldText? {
    guard let jar = jar.used(by: request), !request.head.headerFields.contains(where: { $0.name == .cookie }),
      let source = CookieSource(request.head, jar.rules)
    else { return nil }
    return jar.selection(for: source, isUse: isUse)
  }
}

extension CookieFieldText {
  fileprivate var note: TransferFacts.Note { TransferFacts.Note("cookies", detail: "sent", text: words(as: "sent")) }

  /// Returns a phrase with the names of the cookies, at most five.
  fileprivate func words(as verb: String) -> String {
    let names = cookies.prefix(5).map { $0.name.isEmpty ? "a nameless one" : $0.name.escapedForDisplay }
    var words = "\(verb) \(cookies.count) \(cookies.count == 1 ? "cookie" : "cookies"): "
    words += names.joined(separator: ", ") + (cookies.count > 5 ? ", …" : "")
    if leftOut > 0 { words += "; \(leftOut) more have no room in the field" }
    return words
  }
}
