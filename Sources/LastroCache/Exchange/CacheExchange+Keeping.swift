// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

extension CacheExchange {
  /// The server's answer, which is kept where it may be: at once, or while its body is read.
  ///
  /// - Parameter isTrue: whether nothing changed at the server since the request was handed over, as far as is known.
  func kept(
    _ response: TransferResponse, _ situation: Situation, _ times: Times, _ isTrue: () -> Bool
  ) async -> Asked {
    var report = CacheReport(.missed)
    report.forwardReason = situation.forwardReason
    report.forwardStatus = response.head.status.code
    var response = response
    let (head, key, mayStore) = head(of: response, times)
    if mayStore, isTrue(), let writing = await store.begin(head, for: key) {
      let old = situation.chosen.map { situation.stored[$0].id }
      if let bytes = response.body.bytes {
        if bytes.count <= cache.policy.maximumEntryBytes, await writing.write(bytes), await writing.commit() {
          report.isStored = true
          if let old { await store.remove(old) }
        } else {
          writing.abandon()
        }
      } else {
        report.isStored = true
        let tee = TeedBody(
          response.body, into: writing, maximumBytes: cache.policy.maximumEntryBytes, store: store, replacing: old)
        response.body = ResponseBody(source: tee)
      }
    }
    return Asked(response: noted(response, report), isShareable: mayStore)
  }

  /// The head as it is kept, under which key, and whether it may be.
  private func head(of response: TransferResponse, _ times: Times) -> (StoredHead, CacheKey, mayStore: Bool) {
    let fields = CacheFields(response.head.headerFields)
    // The engine undoes codings where the request asks for none itself.
    let isDecoded =
      fields.contains("content-encoding") && !asked.fields.contains("accept-encoding")
      && !asked.fields.contains("range")
    let entry = CacheEntry(
      status: response.head.status.code, fields: CacheStorage.fieldsToStore(fields, received: times.received),
      requested: times.requested, received: times.received, isDecoded: isDecoded)
    let selecting = try? keys.keyring.digest(ofSelection: VaryRule(fields).selection(from: asked.fields))
    let head = StoredHead(
      head: HTTPResponse(status: response.head.status, headerFields: entry.fields.httpFields),
      requested: times.requested, received: times.received, selecting: selecting ?? [], isDecoded: isDecoded)
    let isWhole = response.facts.bodyCut == nil && response.body.upgraded == nil
    // A cookie is for whom it was set, whatever else the answer says.
    let isForAll = entry.control.isPublic && !fields.contains("set-cookie")
    return (
      head, isForAll ? keys.common : keys.own,
      selecting != nil && isWhole && !(isOfNewSession && fields.contains("set-cookie"))
        && CacheStorage.mayStore(asked, entry, rules)
    )
  }
}

extension CacheExchange.Situation {
  var forwardReason: CacheReport.ForwardReason? {
    switch decision {
    case .forward(let reason): CacheReport.ForwardReason(rawValue: reason.rawValue)
    case .validate: .stale
    default: nil
    }
  }
}
