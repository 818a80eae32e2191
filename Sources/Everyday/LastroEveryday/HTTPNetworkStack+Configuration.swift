// SPDX-License-Identifier: Apache-2.0

import Lastro

extension HTTPNetworkStack {
  /// The stack's configuration, for its sources of time and random numbers; the default one for a stack of another
  /// module.
  var ownConfiguration: StackConfiguration { (self as? any ConfiguredStack)?.configuration ?? StackConfiguration() }
}
