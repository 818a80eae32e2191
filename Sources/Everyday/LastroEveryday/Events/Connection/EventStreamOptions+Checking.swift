// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

extension EventStreamOptions {
  /// The limits of the parser. A line has room for the largest data that an event may have, and its field name; or for
  /// 1 MiB, because comments, names and identifiers are no data.
  var limits: EventStreamMachine.Limits {
    let name = "data: ".utf8.count
    return .init(
      lineBytes: min(max(maximumEventBytes, 1 << 20), Int.max - name) + name, eventBytes: maximumEventBytes,
      idBytes: maximumIDBytes)
  }

  /// The limit for the first event, with its names in errors.
  var firstElement: FirstElementLimit? {
    firstEvent.map { FirstElementLimit(limit: $0, element: "event", option: "the parameter firstEvent") }
  }

  /// Throws a refusal of invalid options.
  func check() throws(TransportError) {
    guard maximumEventBytes >= 1 else {
      throw .refused(
        .invalidOption, "maximumEventBytes is \(maximumEventBytes), below the minimum of 1", hint: "give 1 or more")
    }
    if let firstEvent, firstEvent <= .zero {
      throw .refused(
        .invalidOption, "firstEvent is \(firstEvent.brief), which is not positive",
        hint: "give a positive one, or nil for no limit")
    }
    if let maximumReconnections, maximumReconnections < 0 {
      throw .refused(
        .invalidOption, "maximumReconnections is \(maximumReconnections), below the minimum of 0",
        hint: "give 0 or more, or nil for the default")
    }
    try checkID()
  }

  private func checkID() throws(TransportError) {
    guard lastEventID.utf8.count <= maximumIDBytes else {
      throw .refused(
        .invalidOption,
        "the parameter lastEventID has \(lastEventID.utf8.count) bytes, above the maximum of \(maximumIDBytes)",
        hint: "give the identifier of an event, as ServerSentEvent.lastEventID has it")
    }
    guard lastEventID.utf8.allSatisfy(FieldSyntax.isValue) else {
      throw .refused(
        .invalidOption,
        "the parameter lastEventID \"\(lastEventID.escapedForDisplay)\" has a control character",
        hint: "give the identifier of an event, as ServerSentEvent.lastEventID has it")
    }
  }
}
