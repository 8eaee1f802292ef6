/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a folder or a file is open to, for what a program runs or believes without looking: a cache of built
 * kernels. The user's own is what belongs to the user or to root and nobody else may write. A group may where
 * it is the owner's alone: of the same name, and without other members. */
#ifndef CLV_BASE_OWN_H
#define CLV_BASE_OWN_H

#include <stdbool.h>

/* Room for why something is not the user's own: words that follow "as", or "" where it is not there. */
enum { CLV_WHY = 400 };

/* Whether a folder and all above it, links followed, are the user's own. Those above may also be open to
 * everybody where entries belong to who made them (/tmp). True as well of a folder that nobody else can
 * make; `make`: it is made, 0700, with those above. So nobody changes what the name stands for from here on.
 * A relative path is one from the current folder. */
bool clv_own_folder(const char *path, bool make, char why[CLV_WHY]);

/* The same of all that lies in it, too: files and folders, no links. Where nobody else can enter, what lies
 * there may be writable by groups; and a folder of many entries is looked through once, which a file
 * .clvox-own in it says, until its mode or the names in it change. */
bool clv_own_tree(const char *path, char why[CLV_WHY]);

/* Opens a file that is the user's own; its folder has to be. flags and mode as of open. -1: there is none,
 * or it is a link, a pipe, a device or open to others. */
int clv_own_open(const char *path, int flags, unsigned mode);

#endif
