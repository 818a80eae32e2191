// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

/// The layer that stores the cookies of responses.
struct CookieReceipt: TransportLayer {
  let jar: CookieJar

  package func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport {
    CookieReceiptTransport(base: base, jar: jar)
  }
}

private struct CookieReceiptTransport: Transport {
  let base: any Transport
  let jar: CookieJar

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    do throws(TransportError) {
      var response = try await base.execute(request)
      if let note = receive(response.head, to: request) { response.facts.notes.append(note) }
      return response
    } catch {
      var error = error
      // The head was received completely, even if the body failed.
      if let head = error.head, let note = receive(head, to: request) { error.facts?.notes.append(note) }
      throw error
    }
  }

  func explain(_ request: TransferRequest) -> [(name: String, value: String)] { base.explain(request) }

  /// Stores the cookies of a final response, and returns a note about them.
  private func receive(_ head: HTTPResponse, to request: TransferRequest) -> TransferFacts.Note? {
    guard head.headerFields.contains(where: { $0.name == .setCookie }), head.status.kind != .informational,
      let jar = jar.used(by: request), let source = CookieSource(request.head, jar.rules)
    else { return nil }
    let lines = head.headerFields[fields: .setCookie].map { field in field.withUnsafeBytesOfValue { Array($0) } }
    return Self.note(jar.receive(lines, from: source))
  }

  private static func note(_ verdicts: [CookieVerdict]) -> TransferFacts.Note {
    let changes = verdicts.count { $0.changesRequests }
    let words = verdicts.prefix(5).map(\.description) + (verdicts.count > 5 ? ["…"] : [])
    return TransferFacts.Note(
      "cookies", detail: changes > 0 ? "changed" : "kept", text: "cookies " + words.joined(separator: "; "))
  }
}
