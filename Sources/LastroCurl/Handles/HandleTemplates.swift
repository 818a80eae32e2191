// SPDX-License-Identifier: Apache-2.0

/// Handles that no transfer ever used, set up for requests that are often made to a host: duplicating one costs less than
/// setting up a handle anew.
struct HandleTemplates {
  /// Bodies are collected or streamed, with this connect limit or that.
  private static let most = 4

  /// Without a handle: seen once.
  private var templates: [(setting: HandleSetting, handle: EasyHandle?)] = []

  /// A handle for a request with this setting, where there is a template.
  func handle(for setting: HandleSetting?) -> EasyHandle? {
    guard let setting else { return nil }
    for template in templates where template.setting == setting {
      return template.handle.flatMap { EasyHandle(optionsOf: $0) }
    }
    return nil
  }

  /// Keeps the options of a handle that was set up, and not used yet, when the setting comes for the second time: whoever
  /// asks a host once should not pay for a second time.
  mutating func learn(_ setting: HandleSetting?, from handle: EasyHandle) {
    guard let setting else { return }
    if let index = templates.firstIndex(where: { $0.setting == setting }) {
      templates[index].handle = EasyHandle(optionsOf: handle)
    } else {
      if templates.count == Self.most { templates.removeFirst() }
      templates.append((setting, nil))
    }
  }
}
